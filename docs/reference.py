"""Write reference.md from the docstrings and signatures: ``python docs/reference.py``."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import unsaddle
import unsaddle.ase
import unsaddle.jax
import unsaddle.optax
import unsaddle.torch
from unsaddle.core.events import Event
from unsaddle.core.kernel import Parameters
from unsaddle.jax.solution import Solution
from unsaddle.methods.constants import DEFAULTS, Constants, SampledConstants
from unsaddle.methods.table import METHODS, STOCHASTIC

PAGE = Path(__file__).with_suffix(".md")
HEAD = """# Reference

Arguments and what comes back, for NumPy, torch, JAX, optax and ASE, and every hyperparameter by
name. This page is written from the docstrings by `python docs/reference.py`. Words are explained in
the [glossary](glossary.md), which also lists the outcomes and the phases of a history; reasons are
in [Design](design.md).
"""
CALLED: dict[str, Callable[..., Any]] = {
    **{f"unsaddle.{name}": getattr(unsaddle, name) for name in (
        "minimize", "certify", "find_negative_curvature", "minimize_stochastic", "scipy_method",
        "save", "load", "plot",
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
    **{f"unsaddle.ase.{name}": getattr(unsaddle.ase, name) for name in (
        "Minimum", "Escape", "certify",
    )},
}  # fmt: skip
LIKE = {
    "unsaddle.torch.ANCGD": (
        "Auto, AGDAuto, PGD, PAGD, PGDNC, NEON, NEONPlus and AGDLanczos take the same arguments."
    ),
    "unsaddle.torch.SGDNC": ("Neon2Online, SpiderPlus, SharpSGD and PSGD take the same arguments."),
    "unsaddle.optax.method": "ancgd(...) is method('ancgd', ...), and so on.",
    "unsaddle.optax.sampled": "sgd_nc(...) is sampled('sgd+nc', ...), and so on.",
}
WORDS = SampledConstants.__annotations__
RESULTS = {
    "unsaddle.Certificate": unsaddle.Certificate,
    "result.history": unsaddle.numpy.loop.History,
    "result.history.events": Event,
    "result.best": unsaddle.numpy.oracle.Best,
    "result.parameters": Parameters,
    "unsaddle.jax.Solution": Solution,
    "unsaddle.ase.Options": unsaddle.ase.Options,
    "unsaddle.ase.Words": unsaddle.ase.Words,
    "unsaddle.ase.VibrationCertificate": unsaddle.ase.VibrationCertificate,
}
MORE = {
    "result.history": (
        "What each name of a phase means, and what it asks for, is in the table of "
        "[phases](glossary.md#phases). A name that begins with `proof` is of the proof behind a "
        "method's own test."
    ),
    "result.parameters": (
        "Those of `descent` and `escape` are the [hyperparameters](#hyperparameters) of the "
        "method, as theory or you have set them."
    ),
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


def shown(default: Any) -> str:
    """Write a default, if there is one to write."""
    if default in (inspect.Parameter.empty, None) or " object at " in repr(default):
        return ""
    return f"`{default!r}`" if default == default else "required"


def described(name: str, called: Callable[..., Any]) -> Iterator[str]:
    """Describe one function or class."""
    of_class = isinstance(called, type)
    said, taken = sections(called.__doc__ or ""), inspect.signature(called).parameters
    own = sections(called.__init__.__doc__ or "") if of_class else said
    first, *more = said[""].strip().split("\n\n")
    yield f"\n## {name}\n\n{joined(first)} {LIKE.get(name, '')}".rstrip() + "\n"
    yield from (f"\n{joined(paragraph)}\n" for paragraph in more)
    listed = arguments(own.get("Args", ""))
    if listed:
        yield "\n| argument | default | |\n|---|---|---|\n"
    for word, words in listed.items():
        argument = taken.get(word.lstrip("*"))
        default = shown(argument.default) if argument else ""
        yield f"| `{word}` | {default} | {words} |\n"
    spelled = [it for word, it in taken.items() if word in WORDS and word not in listed]
    if spelled:
        each = [f"`{it.name}`" + f" ({shown(it.default)})" * bool(shown(it.default))
                for it in spelled]  # fmt: skip
        yield f"\n**[Constants](#constants)**, with their defaults: {', '.join(each)}.\n"
    if "Returns" in own:
        yield f"\n**Returns.** {joined(own['Returns'])}\n"


def fields(form: type) -> list[tuple[str, str]]:
    """Give the fields of a class with what stands beside or below them."""
    text = inspect.getsource(form)
    lines, body = text.splitlines(), ast.parse(inspect.cleandoc("\n" + text)).body[0].body  # type: ignore[attr-defined]
    found = []
    for line, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(line, ast.AnnAssign):
            said = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            beside = lines[line.end_lineno - 1].partition("  # ")[2]  # type: ignore[operator]
            found.append((line.target.id, joined(below.value.value if said else beside)))  # type: ignore[union-attr]
    return found


def constants() -> Iterator[str]:
    """Describe the words that all front ends share."""
    yield "\n## Constants\n\nWhat a caller knows of the function, and what is asked for. The words"
    yield " have the same meaning\non every front end, and are given by name only. For annotations "
    yield "they are `unsaddle.Constants`, and with\nthe last three `unsaddle.SampledConstants`.\n"
    yield "\n| constant | usual default | |\n|---|---|---|\n"
    for word, words in [*fields(Constants), *fields(SampledConstants)]:
        yield f"| `{word}` | {shown(DEFAULTS.get(word))} | {words} |\n"


def results() -> Iterator[str]:
    """Describe what comes back everywhere."""
    for name, form in RESULTS.items():
        yield f"\n## {name}\n\n{joined(form.__doc__ or '')}\n\n| field | |\n|---|---|\n"
        yield from (f"| `{word}` | {words} |\n" for word, words in fields(form))
        yield f"\n{MORE[name]}\n" if name in MORE else ""


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
    return HEAD + "".join((*constants(), *entries, *results(), *hyperparameters()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
