"""Write reference.md from the docstrings and signatures: ``python docs/reference.py``."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import unsaddle
import unsaddle.jax
import unsaddle.optax
import unsaddle.torch
from unsaddle.methods import METHODS, STOCHASTIC

PAGE = Path(__file__).with_suffix(".md")
HEAD = """# Reference

Arguments and what comes back, for the core, torch, JAX and optax, and every hyperparameter by name.
Written from the docstrings by `python docs/reference.py`; why things are so is in
[Design](design.md).
"""
CALLED: dict[str, Callable[..., Any]] = {
    **{f"unsaddle.{name}": getattr(unsaddle, name) for name in (
        "minimize", "certify", "find_negative_curvature", "minimize_stochastic", "scipy_method",
        "save", "load",
    )},
    **{f"unsaddle.torch.{name}": getattr(unsaddle.torch, name) for name in (
        "Escape", "ANCGD", "SGDNC", "certify",
    )},
    **{f"unsaddle.jax.{name}": getattr(unsaddle.jax, name) for name in (
        "minimize", "minimize_many", "certify", "find_negative_curvature", "minimize_stochastic",
    )},
    **{f"unsaddle.optax.{name}": getattr(unsaddle.optax, name) for name in (
        "method", "sampled", "escape", "iterate", "outcome", "sample",
    )},
}  # fmt: skip
LIKE = {
    "unsaddle.torch.ANCGD": "Auto, AGDAuto, PGD, PAGD, PGDNC, NEON, NEONPlus and AGDLanczos alike.",
    "unsaddle.torch.SGDNC": "PSGD alike.",
    "unsaddle.optax.method": "ancgd(...) is method('ancgd', ...), and so on.",
    "unsaddle.optax.sampled": "sgd_nc(...) is sampled('sgd+nc', ...), psgd(...) the other.",
}


def sections(text: str) -> dict[str, str]:
    """Give the parts of a docstring: what comes first, Args, Returns."""
    parts = re.split(r"^(Args|Returns|Raises|Yields):\n", inspect.cleandoc(text), flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def joined(text: str) -> str:
    """Give a paragraph on one line, in Markdown."""
    return re.sub(r"``(.+?)``", r"`\1`", " ".join(text.split())).replace("|", r"\|")


def arguments(text: str) -> dict[str, str]:
    """Give the arguments of an Args section with what is said of them."""
    found = re.findall(r"^    (\**\w+): (.*?)(?=^    \S|\Z)", text, re.M | re.S)
    return {name: joined(words) for name, words in found}


def described(name: str, called: Callable[..., Any]) -> Iterator[str]:
    """Describe one function or class."""
    of_class = isinstance(called, type)
    said, defaults = sections(called.__doc__ or ""), inspect.signature(called).parameters
    own = sections(called.__init__.__doc__ or "") if of_class else said
    first, *more = said[""].strip().split("\n\n")
    yield f"\n## {name}\n\n{joined(first)} {LIKE.get(name, '')}".rstrip() + "\n"
    yield from (f"\n{joined(paragraph)}\n" for paragraph in more)
    if "Args" in own:
        yield "\n| argument | default | |\n|---|---|---|\n"
    for word, words in arguments(own.get("Args", "")).items():
        default = defaults[word.lstrip("*")].default
        shown = "" if default in (inspect.Parameter.empty, None) else f"`{default!r}`"
        shown = "required" if default != default else shown
        yield f"| `{word}` | {shown} | {words} |\n"
    if "Returns" in own:
        yield f"\n**Returns.** {joined(own['Returns'])}\n"


def fields(form: type) -> list[tuple[str, str]]:
    """Give the fields of a class with what stands beside or below them."""
    line = r'^    (\w+): [^#=\n]+?(?: = .+?)?(?:  # (.*)|\n    """(.*)""")?$'
    found = re.findall(line, inspect.getsource(form), re.M)
    return [(word, joined(beside or below)) for word, beside, below in found]


def certificate() -> Iterator[str]:
    """Describe what comes back everywhere."""
    form = unsaddle.Certificate
    yield f"\n## unsaddle.Certificate\n\n{joined(form.__doc__ or '')}\n\n| field | |\n|---|---|\n"
    yield from (f"| `{word}` | {words} |\n" for word, words in fields(form))


def hyperparameters() -> Iterator[str]:
    """Name every hyperparameter, with what the source says of it and the methods that have it."""
    rows: dict[tuple[str, str], list[str]] = {}
    for name, method in (METHODS | STOCHASTIC).items():
        for part in (method.descent, method.escape):
            for word, words in fields(part.settings):
                rows.setdefault((word, words), []).append(f"`{name}`")
    yield "\n## Hyperparameters\n\nOptions of these names replace what theory or a preset gives.\n"
    yield "\n| option | | of |\n|---|---|---|\n"
    yield from (
        f"| `{word}` | {words} | {', '.join(methods)} |\n"
        for (word, words), methods in sorted(rows.items())
    )


def page() -> str:
    """Give the page."""
    entries = (line for name, called in CALLED.items() for line in described(name, called))
    return HEAD + "".join((*entries, *certificate(), *hyperparameters()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
