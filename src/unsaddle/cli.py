"""The command line: ``unsaddle methods``, ``unsaddle minimize``, ``unsaddle reproduce``."""

import argparse
import importlib
import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from textwrap import fill, wrap
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle import METHODS, Outcome, __version__, minimize
from unsaddle.landscapes import LANDSCAPES, Landscape
from unsaddle.methods import STOCHASTIC

WIDTHS = {"method": 11, "descent x escape": 25, "oracle": 16, "proven rate": 19, "source": 21}
FIELDS = ("method", "parts", "oracle", "rate", "source")
SPECIAL = {"true": lambda: True} | {f"landscape:{name}": make for name, make in LANDSCAPES.items()}
NEEDED = {"jac": "MODULE:NAME, or --jac true if fun returns (value, gradient)", "x0": "1,0"}
EXIT_CODES = {Outcome.CERTIFIED: 0, Outcome.INTERRUPTED: 130}  # every other outcome: 1
ERASE = "\r\033[K"


class TheirError(Exception):
    """The cause was raised by the user's function."""


class Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong, so that all errors look the same."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting."""
        raise ValueError(f"{message}; see {self.prog} --help")


def methods_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``unsaddle methods`` takes."""
    parser.add_argument("--json", action="store_true", default=False, help="print JSON")


def run_methods(given: dict[str, Any]) -> int:
    """List the methods: what each is made of, what it asks for and what is proven of it."""
    known = (METHODS | STOCHASTIC).items()
    rows = [(name, *[getattr(it, field) for field in FIELDS[1:]]) for name, it in known]
    if given["json"]:
        print(json.dumps([dict(zip(FIELDS, row, strict=True)) for row in rows], indent=2))
        return 0
    for row in (WIDTHS, ["-" * width for width in WIDTHS.values()], *rows):
        for line in zip_longest(*map(wrap, row, WIDTHS.values()), fillvalue=""):
            print("  ".join(map(str.ljust, line, WIDTHS.values())).rstrip())
    return 0


def minimize_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``unsaddle minimize`` takes; what is not given is left to the library."""
    parser.argument_default = argparse.SUPPRESS
    places = f"MODULE:NAME, FILE.py:NAME, or landscape:NAME of {', '.join(LANDSCAPES)}"
    parser.add_argument("fun", type=function, help=f"the function: {places}")
    for name, kind, text in (
        ("x0", point, "where to start, such as 1,0; at a landscape's saddle if not given"),
        ("jac", function, "its gradient: MODULE:NAME, or true if fun returns (value, gradient)"),
        ("method", str, "a name from `unsaddle methods` (default {})"),
        ("tol", float, "gradient norm to reach (default {})"),
        ("curvature_tol", float, "curvature to certify; sqrt(hessian_lipschitz tol) if not given"),
        ("failure_probability", float, "chance of a false certificate in the run (default {})"),
        ("seed", int, "all randomness is a function of it (default {})"),
        ("max_gradients", int, "stop before one gradient more than this"),
        ("smoothness", float, "bound on the Hessian's norm"),
        ("hessian_lipschitz", float, "Lipschitz constant of the Hessian"),
        ("decrease_available", float, "bound on fun(x0) - min fun; pgd and pagd need it"),
    ):
        text = text.format(inspect.signature(minimize).parameters[name].default)
        parser.add_argument("--" + name.replace("_", "-"), type=kind, help=text)
    text = "NAME=VALUE: a hyperparameter of the method, in place of the paper's"
    parser.add_argument("--set", type=setting, nargs="+", action="extend", default=[], help=text)
    methods_arguments(parser)


def run_minimize(given: dict[str, Any]) -> int:
    """Minimise a function and certify the point; exit code 0 if certified, 1 if not."""
    options, as_json, seen = dict(given.pop("set")), given.pop("json"), {"due": 0.0}
    given = _knowledge(**given) if isinstance(given["fun"], Landscape) else given
    for name in [name for name in NEEDED if name not in given]:
        raise ValueError(f"{name} is missing: type --{name} {NEEDED[name]}")
    given |= {name: partial(_call, seen, name, it) for name, it in given.items() if callable(it)}
    progress = partial(_show, seen) if sys.stderr.isatty() else None
    try:
        result = minimize(**given, **options, callback=progress)
    finally:
        print(ERASE if progress else "", end="", file=sys.stderr)
    print(_report(result, as_json))
    return EXIT_CODES.get(result.outcome, 1)


def reproduce_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``unsaddle reproduce`` takes."""
    text = "fig1 to fig8, table1, or another part of the report (default all)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=text)
    parser.add_argument("--output", default="report", help="folder for the report (default report)")
    parser.add_argument("--seed", type=int, default=0, help="of all samples (default 0)")
    text = "run also what is finished already"
    parser.add_argument("--again", action="store_true", default=False, help=text)


def run_reproduce(given: dict[str, Any]) -> int:
    """Reproduce the paper's figures and claims, and write the report."""
    try:
        from unsaddle.paper.command import run
    except ImportError as error:
        raise ImportError(
            f"{error.name} is missing: reproduce needs the extra `paper`; "
            "type pip install 'unsaddle[paper]'"
        ) from error
    return run(**given)


COMMANDS = {  # name -> (adds its arguments to a parser, runs it and gives the exit code)
    "methods": (methods_arguments, run_methods),
    "minimize": (minimize_arguments, run_minimize),
    "reproduce": (reproduce_arguments, run_reproduce),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: The words after ``unsaddle``; those of the process if not given.

    Returns:
        The exit code: 0 success, 1 not certified, 2 bad input, 130 interrupted.
    """
    words = iter(sys.argv[1:] if argv is None else argv)
    words = [f"--x0={next(words, '')}" if word == "--x0" else word for word in words]  # for -1,0
    parser = Parser("unsaddle", description="Leave saddle points, and certify where you end.")
    parser.add_argument("--version", action="version", version=f"unsaddle {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, (add_arguments, run) in COMMANDS.items():
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        add_arguments(command)
        command.set_defaults(run=run)
    try:
        given = vars(parser.parse_args(words))
        return given.pop("run")(given)
    except TheirError as error:
        traceback.print_exception(error.__cause__)
    except (ValueError, TypeError, ImportError) as error:
        print(f"unsaddle: error: {error}", file=sys.stderr)
    return 2


def point(text: str) -> np.ndarray:
    """Read numbers with commas between them."""
    return np.array([float(word) for word in text.split(",")])


def setting(text: str) -> tuple[str, float]:
    """Read ``NAME=VALUE``."""
    name, value = text.split("=")
    return name, float(value)


def function(text: str) -> Any:
    """Find what is at MODULE:NAME, FILE.py:NAME or landscape:NAME; ``true`` is True."""
    if text.lower() in SPECIAL:
        return SPECIAL[text.lower()]()
    place, _, name = text.rpartition(":")
    folder, module = os.path.split(place.removesuffix(".py"))
    sys.path.insert(0, os.path.abspath(folder))
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be loaded: {error!r}") from error


def _knowledge(fun: Landscape, **given: Any) -> dict[str, Any]:
    """Add what a landscape knows to what was given."""
    x0 = given.setdefault("x0", fun.saddles[0])
    if len(x0) != fun.n:
        raise ValueError(f"x0 has {len(x0)} numbers, but {fun.name} has {fun.n} variables")
    known = {name: getattr(fun, name) for name in ("smoothness", "hessian_lipschitz")}
    known["decrease_available"] = max(fun.value(x0) - fun.infimum, sys.float_info.epsilon)
    return {**known, "fun": fun.value, "jac": fun.gradient, **given}


def _call(seen: dict[str, Any], name: str, function: Callable[..., Any], x: np.ndarray) -> Any:
    """Call the user's function, keep what it answers and mark what it raises."""
    try:
        seen[name] = function(x)
    except Exception as error:
        raise TheirError from error
    return seen[name]


def _show(seen: dict[str, Any], intermediate_result: OptimizeResult) -> None:
    """Keep a line on the terminal up to date."""
    if time.monotonic() > seen["due"]:
        seen["due"] = time.monotonic() + 0.1
        both = (seen.get("fun", np.nan), seen["jac"]) if "jac" in seen else seen["fun"]
        line = f"{intermediate_result.nit} gradients, value {both[0]:.6g}, |gradient| "
        print(f"{ERASE}{line}{np.linalg.norm(both[1]):.3g}", end="", file=sys.stderr, flush=True)


def _report(result: OptimizeResult, as_json: bool) -> str:
    """Write a result for a reader, or as JSON with null for NaN."""
    fields = {"outcome": result.outcome.name, "sentence": result.outcome.value}
    fields |= {"certificate": result.certificate, "x": result.x, "value": result.fun}
    fields |= {"gradient_norm": np.linalg.norm(result.jac)}
    fields |= {"gradients": result.njev, "values": result.nfev}
    if as_json:
        fields["certificate"] = vars(result.certificate)
        text = json.dumps(fields, default=lambda array: array.tolist())
        return json.dumps(json.loads(text, parse_constant=lambda nan: None), indent=2)
    with np.printoptions(threshold=10, linewidth=1000, formatter={"float_kind": "{:.6g}".format}):
        lines = [f"{name:15}{part}".replace(" nan", " unknown") for name, part in fields.items()]
    return "\n".join(fill(line, 100, subsequent_indent=" " * 15) for line in lines)
