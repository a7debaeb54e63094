"""The commands: what each takes, what it runs, and its exit code."""

import argparse
import inspect
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from textwrap import wrap
from typing import Any, NoReturn

import numpy as np

from unsaddle import METHODS, Outcome, __version__, _quiet, certify, minimize
from unsaddle.cli.atoms import atoms_arguments, run_atoms
from unsaddle.cli.inputs import (
    PLACES,
    TheirError,
    exception,
    function,
    numbers,
    placed,
    setting,
    whole,
    with_constants,
)
from unsaddle.cli.report import as_flags, flag, written
from unsaddle.landscapes import Landscape
from unsaddle.messages import ELSEWHERE, meant
from unsaddle.methods.table import STOCHASTIC
from unsaddle.numpy.plot import plot

WIDTHS = {"method": 11, "descent x escape": 25, "oracle": 16, "proven rate": 19, "source": 21}
FIELDS = ("method", "parts", "oracle", "rate", "source")
EXIT_CODES = {Outcome.CERTIFIED: 0, Outcome.INTERRUPTED: 130}  # every other outcome: 1
BROKEN_PIPE = 141  # as a shell has it


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
                raise SpokenError(f"{word} {as_flags(ELSEWHERE[word[2:]], ARGUMENTS)}")
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
    "x0": (numbers, "the point to start at, such as 1,0; a landscape's saddle if not given"),
    "jac": (
        function,
        "its gradient: MODULE:NAME, or true if fun returns (value, gradient); if not given, "
        "differences of fun, which can certify less",
    ),
    "method": (str, "a name from `unsaddle methods` (default {})"),
    "tol": (float, "gradient norm to reach (default {})"),
    "curvature_tol": (float, "curvature to certify; chosen from the curvature at x if not given"),
    "failure_probability": (float, "chance of a false certificate in the run (default {})"),
    "seed": (whole, "all randomness is a function of it (default {})"),
    "max_gradients": (whole, "the run stops before it takes more gradients than this"),
    "max_seconds": (float, "the run stops at the first query after so many seconds"),
    "certificate_budget": (float, "share of the gradients that the certificate may take, 0 to 1"),
    "smoothness": (float, "bound on the Hessian's norm"),
    "hessian_lipschitz": (float, "Lipschitz constant of the Hessian"),
    "decrease_available": (float, "bound on fun(x0) - min fun; pgd and pagd need it"),
    "gradient_noise": (float, "length of the gradient's error; measured if not given"),
    "probe_radius": (float, "distance over which gradients are differenced; chosen if not given"),
    "max_step": (float, "length of the longest step, trial or jump; method auto only"),
    "trial_errors": (
        exception,
        "what may be raised at a trial point, whose value is infinite then: MODULE:NAME, or a "
        "built-in exception; else it ends the run",
    ),
}
ASKED = ("x0", "curvature_tol", "failure_probability", "seed", "max_gradients", "max_seconds")
OF_CERTIFY = (*ASKED, "gradient_noise", "probe_radius")


def add_arguments(parser: argparse.ArgumentParser, what: str, names: Sequence[str]) -> None:
    """Add a function and some arguments; what is not given is left to the library."""
    parser.argument_default = argparse.SUPPRESS
    parser.add_argument("fun", metavar=what, type=function, help=f"where it is: {PLACES}")
    for name in names:
        kind, text = ARGUMENTS[name]
        text = text.format(inspect.signature(minimize).parameters[name].default)
        metavar = name.rpartition("_")[2].upper()
        parser.add_argument(f"--{flag(name)}", type=kind, metavar=metavar, help=text)
    methods_arguments(parser)


def minimize_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``unsaddle minimize`` takes."""
    add_arguments(parser, "FUNCTION", [*ARGUMENTS])
    text = "NAME=VALUE: a hyperparameter of the method, in place of the paper's"
    parser.add_argument("--set", type=setting, nargs="+", action="extend", default=[], help=text)
    text = "draw the run to a file, such as run.png; needs matplotlib"
    parser.add_argument("--plot", metavar="FILE", default=None, help=text)


def run_minimize(given: dict[str, Any]) -> int:
    """Minimise a function and certify the point; exit code 0 if certified, 1 if not."""
    options, as_json, picture = dict(given.pop("set")), given.pop("json"), given.pop("plot")
    spoils, given = given.pop("trial_errors", ()), placed(given)
    if isinstance(given["fun"], Landscape):
        given = with_constants(**given)
    given = _guarded(**given)
    given["trial_errors"] = lambda error: isinstance(error.__cause__, spoils)
    result = minimize(**given, **options, disp=sys.stderr.isatty() and sys.stderr)
    if picture is not None:
        _draw(result, given["fun"], picture)
    fields = {"outcome": result.outcome.name, "sentence": result.outcome.value}
    fields |= {"certificate": result.certificate, "x": result.x, "value": result.fun}
    fields |= {"gradient_norm": np.linalg.norm(result.jac)}
    fields |= {"gradients": result.njev, "values": result.nfev}
    print(written(fields, as_json))
    return EXIT_CODES.get(result.outcome, 1)


def _draw(result: Any, fun: Any, path: str) -> None:
    """Draw a run to a file."""
    import matplotlib

    matplotlib.use("Agg")
    try:
        plot(result, fun).savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise SpokenError(f"--plot cannot write {path!r}: {error}") from error


def run_certify(given: dict[str, Any]) -> int:
    """Certify that a point is no saddle, or find a way out; exit code 0 if certified, 1 if not."""
    as_json, given = given.pop("json"), placed(given)
    found, x = given.pop("fun"), given.pop("x0")
    given = _guarded(grad=getattr(found, "gradient", found), x=x, **given)
    certificate = certify(**given)
    fields = {"certificate": certificate, "x": x, "gradient_norm": certificate.gradient_norm}
    if not as_json:
        fields |= {"curvature": certificate.curvature, "direction": certificate.direction}
    print(written(fields, as_json))
    return 0 if certificate.holds else 1


def reproduce_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``unsaddle reproduce`` takes."""
    text = "fig1 to fig8, table1, or another part of the report (default all)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=text)
    parser.add_argument("--output", default="report", help="folder for the report (default report)")
    parser.add_argument("--seed", type=whole, default=0, help="of all samples (default 0)")
    text = "run also what is finished already"
    parser.add_argument("--again", action="store_true", default=False, help=text)
    text = "address of a Dask scheduler, on whose workers the parts run"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=text)


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
    "certify": (partial(add_arguments, what="GRADIENT", names=OF_CERTIFY), run_certify),
    "atoms": (atoms_arguments, run_atoms),
    "reproduce": (reproduce_arguments, run_reproduce),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command: 0 success, 1 not certified, 2 bad input or no room to write, 130 interrupted.

    It is quiet if nobody reads on, as in ``unsaddle methods | head``.

    Args:
        argv: The words after ``unsaddle``; those of the process if not given.

    Returns:
        The exit code.
    """
    _quiet.heed()
    if sys.stdout is None:  # as after >&-
        return _say("standard output is closed: write to a file, or to /dev/null")
    try:
        try:
            return _run(sys.argv[1:] if argv is None else argv)
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            return _say(f"{error.filename!r} cannot be opened: {error.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        return _say(f"standard output cannot be written: {error.strerror}")


def _say(error: str) -> int:
    print(f"unsaddle: error: {error}", file=sys.stderr)
    return 2


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
        return 2
    except SpokenError as error:
        return _say(str(error))
    except (ValueError, TypeError, ArithmeticError, ImportError) as error:
        return _say(as_flags(str(error), ARGUMENTS))


def _guarded(**given: Any) -> dict[str, Any]:
    """Put a guard around every function of the user's."""
    return {k: partial(_call, it) if callable(it) else it for k, it in given.items()}


def _call(function: Callable[..., Any], x: np.ndarray) -> Any:
    """Call the user's function, and mark what it raises."""
    try:
        return function(x)
    except Exception as error:
        raise TheirError from error
