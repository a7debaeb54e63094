"""The command line: ``unsaddle methods``, ``minimize``, ``certify`` and ``reproduce``."""

import argparse
import importlib
import inspect
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from textwrap import fill, wrap
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle import METHODS, Outcome, __version__, certify, minimize
from unsaddle.hints import ELSEWHERE
from unsaddle.landscapes import LANDSCAPES, Landscape
from unsaddle.methods import STOCHASTIC
from unsaddle.words import meant, nearest

SPOKEN = {  # what the library says -> what to say here
    r"(?<=\?)\nThe arguments .*;\nthose of (.*) besides:": r" --set with \1 takes",
    r"\nThe arguments .*;\nthose of (.*) besides:": r"; --set with \1 takes",
    "; pass grad=.*": "",
    r"^x (?=must|is)": "x0 ",
    " like x,": " like x0,",
    r"\bfun\b": "FUNCTION",
    r"\bgrad\b": "GRADIENT",
    r"\boption (?=\w+ must)": "--set ",
    " or None": "",
}
WIDTHS = {"method": 11, "descent x escape": 25, "oracle": 16, "proven rate": 19, "source": 21}
FIELDS = ("method", "parts", "oracle", "rate", "source")
SPECIAL = {"true": lambda: True} | {f"landscape:{name}": make for name, make in LANDSCAPES.items()}
PLACES = f"MODULE:NAME, FILE.py:NAME, or landscape:NAME of {', '.join(LANDSCAPES)}"
EXIT_CODES = {Outcome.CERTIFIED: 0, Outcome.INTERRUPTED: 130}  # every other outcome: 1
BROKEN_PIPE = 141  # as a shell has it
ERASE = "\r\033[K"


class TheirError(Exception):
    """The cause was raised by the user's function."""


class SpokenError(ValueError):
    """An error in the words of the command line: the user's own words in it stay as they are."""


class Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong, so that all errors look the same."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting, and ask which command was meant."""
        wrong = re.search("invalid choice: '(.*?)'", message)
        asked = f"; {meant(wrong[1], COMMANDS)}" if wrong else ""
        raise SpokenError(f"{message}{asked.rstrip('; ')} (see {self.prog} --help)")

    def refuse(self, extra: Sequence[str]) -> NoReturn:
        """Raise what is to be said of words that are not understood, and know those of others."""
        asked, flags = "", re.findall(r"--[\w-]+", self.format_usage())
        for word in [word.partition("=")[0] for word in extra if word.startswith("--")]:
            if word[2:] in ELSEWHERE:
                raise SpokenError(f"{word} {_as_flags(ELSEWHERE[word[2:]])}")
            asked = asked or f"; {meant(word, flags)}".rstrip("; ")
        self.error(f"unrecognized arguments: {' '.join(extra)}{asked}")


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


ARGUMENTS = {  # of minimize: kind, help
    "x0": (lambda text: numbers(text), "where, such as 1,0; at a landscape's saddle if not given"),
    "jac": (
        lambda text: function(text),
        "its gradient: MODULE:NAME, or true if fun returns (value, gradient); if not given, "
        "differences of fun, which can certify less",
    ),
    "method": (str, "a name from `unsaddle methods` (default {})"),
    "tol": (float, "gradient norm to reach (default {})"),
    "curvature_tol": (float, "curvature to certify; chosen from what is met if not given"),
    "failure_probability": (float, "chance of a false certificate in the run (default {})"),
    "seed": (lambda text: whole(text), "all randomness is a function of it (default {})"),
    "max_gradients": (lambda text: whole(text), "stop before one gradient more than this"),
    "smoothness": (float, "bound on the Hessian's norm"),
    "hessian_lipschitz": (float, "Lipschitz constant of the Hessian"),
    "decrease_available": (float, "bound on fun(x0) - min fun; pgd and pagd need it"),
}
IN_PROSE = ("tol", "curvature_tol", "max_gradients", "smoothness", "hessian_lipschitz")
OF_CERTIFY = ("x0", "curvature_tol", "failure_probability", "seed", "max_gradients")


def add_arguments(parser: argparse.ArgumentParser, what: str, names: Sequence[str]) -> None:
    """Add a function and some arguments; what is not given is left to the library."""
    parser.argument_default = argparse.SUPPRESS
    parser.add_argument("fun", metavar=what, type=function, help=f"its place: {PLACES}")
    for name in names:
        kind, text = ARGUMENTS[name]
        text = text.format(inspect.signature(minimize).parameters[name].default)
        metavar = name.rpartition("_")[2].upper()
        parser.add_argument(f"--{_flag(name)}", type=kind, metavar=metavar, help=text)
    methods_arguments(parser)


def minimize_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``unsaddle minimize`` takes."""
    add_arguments(parser, "FUNCTION", [*ARGUMENTS])
    text = "NAME=VALUE: a hyperparameter of the method, in place of the paper's"
    parser.add_argument("--set", type=setting, nargs="+", action="extend", default=[], help=text)


def run_minimize(given: dict[str, Any]) -> int:
    """Minimise a function and certify the point; exit code 0 if certified, 1 if not."""
    options, as_json, seen = dict(given.pop("set")), given.pop("json"), {"due": 0.0}
    given = _placed(given)
    if isinstance(given["fun"], Landscape):
        given = _knowledge(**given)
    given = _guarded(seen, **given)
    progress = partial(_show, seen) if sys.stderr.isatty() else None
    try:
        result = minimize(**given, **options, callback=progress)
    finally:
        print(ERASE if progress else "", end="", file=sys.stderr)
    fields = {"outcome": result.outcome.name, "sentence": result.outcome.value}
    fields |= {"certificate": result.certificate, "x": result.x, "value": result.fun}
    fields |= {"gradient_norm": np.linalg.norm(result.jac)}
    fields |= {"gradients": result.njev, "values": result.nfev}
    print(_report(fields, as_json))
    return EXIT_CODES.get(result.outcome, 1)


def certify_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``unsaddle certify`` takes."""
    add_arguments(parser, "GRADIENT", OF_CERTIFY)


def run_certify(given: dict[str, Any]) -> int:
    """Certify that a point is no saddle, or refute it; exit code 0 if certified, 1 if not."""
    as_json, given = given.pop("json"), _placed(given)
    found, x = given.pop("fun"), given.pop("x0")
    given = _guarded({}, grad=getattr(found, "gradient", found), x=x, **given)
    certificate = certify(**given)
    fields = {"certificate": certificate, "x": x, "gradient_norm": certificate.gradient_norm}
    if not as_json:
        fields |= {"curvature": certificate.curvature, "direction": certificate.direction}
    print(_report(fields, as_json))
    return 0 if certificate.holds else 1


def reproduce_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``unsaddle reproduce`` takes."""
    text = "fig1 to fig8, table1, or another part of the report (default all)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=text)
    parser.add_argument("--output", default="report", help="folder for the report (default report)")
    parser.add_argument("--seed", type=whole, default=0, help="of all samples (default 0)")
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
    "certify": (certify_arguments, run_certify),
    "reproduce": (reproduce_arguments, run_reproduce),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, and be quiet if nobody reads on, as in ``unsaddle methods | head``.

    Args:
        argv: The words after ``unsaddle``; those of the process if not given.

    Returns:
        The exit code: 0 success, 1 not certified, 2 bad input, 130 interrupted.
    """
    try:
        try:
            return _run(sys.argv[1:] if argv is None else argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _run(argv: Sequence[str]) -> int:
    words = iter(argv)
    words = [f"--x0={next(words, '')}" if word == "--x0" else word for word in words]  # for -1,0
    parser = Parser("unsaddle", description="Leave saddle points, and certify where you end.")
    parser.add_argument("--version", action="version", version=f"unsaddle {__version__}")
    commands = parser.add_subparsers(metavar="command")
    for name, (add_arguments, run) in COMMANDS.items():
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        add_arguments(command)
        command.set_defaults(run=run)
    try:
        known, extra = parser.parse_known_args(words or ["--help"])
        given = vars(known)
        if extra:
            commands.choices.get(next(iter(words)), parser).refuse(extra)
        return given.pop("run")(given)
    except KeyboardInterrupt:
        return EXIT_CODES[Outcome.INTERRUPTED]
    except TheirError as error:
        traceback.print_exception(error.__cause__)
    except (ValueError, TypeError, ArithmeticError, ImportError) as error:
        spoken = str(error) if isinstance(error, SpokenError) else _as_flags(str(error))
        print(f"unsaddle: error: {spoken}", file=sys.stderr)
    return 2


def numbers(text: str) -> np.ndarray:
    """Read numbers with commas or spaces between them."""
    try:
        given = [float(word) for word in text.strip("[]() ").replace(",", " ").split()]
    except ValueError:
        given = []
    if not given:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers: type --x0 1,0")
    return np.array(given)


def whole(text: str) -> int:
    """Read a whole number, also if it is written as 1e3."""
    try:
        return int(text)
    except ValueError:
        with suppress(ValueError):
            if float(text).is_integer() and abs(float(text)) < 2**53:
                return int(float(text))
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number: type 1000, or 1e3")


def setting(text: str) -> tuple[str, float]:
    """Read ``NAME=VALUE``."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=VALUE with a number: type --set {name}=0.1"
        ) from None


def function(text: str) -> Any:
    """Find what is at MODULE:NAME, FILE.py:NAME or landscape:NAME; ``true`` is True."""
    if text.lower() in SPECIAL:
        return SPECIAL[text.lower()]()
    place, _, name = text.rpartition(":")
    folder, module = os.path.split(place.removesuffix(".py"))
    sys.path.insert(0, os.path.abspath(folder))
    wrong = {
        f"{text!r} is no place of a function: type {PLACES}": not (module and name),
        f"there is no {text!r}; {nearest(name, LANDSCAPES)}": place.lower() == "landscape",
        f"there is no file {place!r}": place.endswith(".py") and not os.path.exists(place),
    }
    for message in [message for message, holds in wrong.items() if holds]:
        raise argparse.ArgumentTypeError(message)
    try:
        found = importlib.import_module(module)
    except Exception as error:
        absent = isinstance(error, ModuleNotFoundError) and module.startswith(str(error.name))
        why = f"there is no module {place!r}" if absent else f"{place} does not load: {error!r}"
        raise argparse.ArgumentTypeError(why) from error
    if not hasattr(found, name):
        close = meant(name, dir(found)) or "is it spelt so there?"
        raise argparse.ArgumentTypeError(f"there is no {name!r} in {place}; {close}".rstrip())
    return getattr(found, name)


def _placed(given: dict[str, Any]) -> dict[str, Any]:
    """See to it that there is a point of the right size."""
    fun = given["fun"]
    if isinstance(fun, Landscape):
        x0 = given.setdefault("x0", fun.saddles[0])
        if len(x0) != fun.n:
            raise ValueError(f"x0 has {len(x0)} numbers, but {fun.name} has {fun.n} variables")
    if "x0" not in given:
        raise ValueError("x0 is missing: type --x0 1,0")
    return given


def _flag(name: str) -> str:
    return name.replace("_", "-")


def _as_flags(message: str) -> str:
    """Say what the library says of its arguments in the words of the command line, on one line."""
    for pattern, words in SPOKEN.items():
        message = re.sub(pattern, words, message)
    return _flagged(message, ARGUMENTS)


def _flagged(text: str, names: Iterable[str]) -> str:
    """Write names of arguments as flags, but for words in quotes, which are the user's."""
    found = rf"(?<![\w'-])(?<!this )({'|'.join(names)})(?!\w)(=?)"
    return re.sub(found, lambda it: f"--{_flag(it[1])}{' ' * len(it[2])}", text)


def _knowledge(fun: Landscape, **given: Any) -> dict[str, Any]:
    """Add what a landscape knows to what was given."""
    known = {name: getattr(fun, name) for name in ("smoothness", "hessian_lipschitz")}
    known["decrease_available"] = max(fun.value(given["x0"]) - fun.infimum, sys.float_info.epsilon)
    return {**known, "fun": fun.value, "jac": fun.gradient, **given}


def _guarded(seen: dict[str, Any], **given: Any) -> dict[str, Any]:
    """Put a guard around every function of the user's."""
    return {k: partial(_call, seen, k, it) if callable(it) else it for k, it in given.items()}


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
        value, gradient = seen.get("fun", np.nan), seen.get("jac")
        if isinstance(value, tuple | list):
            value, gradient = value
        size = "" if gradient is None else f", |gradient| {np.linalg.norm(gradient):.3g}"
        line = f"{intermediate_result.nit} gradients, value {value:.6g}{size}"
        print(f"{ERASE}{line}", end="", file=sys.stderr, flush=True)


def _report(fields: dict[str, Any], as_json: bool) -> str:
    """Write fields for a reader, or as JSON with null for NaN."""
    if as_json:
        fields["certificate"] = vars(fields["certificate"])
        text = json.dumps(fields, default=lambda array: array.tolist())
        return json.dumps(json.loads(text, parse_constant=lambda nan: None), indent=2)
    fields |= {
        name: _flagged(str(fields[name]), IN_PROSE)
        for name in ("sentence", "certificate")
        if name in fields
    }
    shown = {name: part for name, part in fields.items() if part is not None}
    with np.printoptions(threshold=10, linewidth=1000, formatter={"float_kind": "{:.6g}".format}):
        lines = [f"{name:15}{part}".replace(" nan", " unknown") for name, part in shown.items()]
    return "\n".join(fill(line, 100, subsequent_indent=" " * 15) for line in lines)
