"""``unsaddle atoms``: relax a structure to a minimum, or certify that it is one."""

import argparse
import sys
import time
from types import SimpleNamespace
from typing import Any

from unsaddle.cli.inputs import TheirError, function, whole
from unsaddle.cli.report import written
from unsaddle.core.outcome import Outcome
from unsaddle.methods.constants import DEFAULTS
from unsaddle.numpy.progress import Progress

NAMES = ("emt", "tblite")
STEPS = 10_000
RISK = DEFAULTS["failure_probability"]
WORDS = ("frequency", "failure_probability", "seed", "max_seconds")


def calculator(text: str) -> Any:
    """Read the name of a calculator, or the place of a function that gives one."""
    if text in NAMES:
        return text
    if ":" not in text:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no calculator: type {' or '.join(NAMES)}, or MODULE:FUNCTION"
        )
    return function(text)


def atoms_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``unsaddle atoms`` takes."""
    parser.add_argument("structure", metavar="STRUCTURE", help="a file that ASE can read")
    text = "emt, tblite (GFN2-xTB with accuracy=0.01), or MODULE:FUNCTION that gives one of ASE's"
    parser.add_argument("--calculator", type=calculator, required=True, help=text)
    text = "the largest force on an atom, eV/Å (default 0.05)"
    parser.add_argument("--fmax", type=float, default=0.05, help=text)
    text = "no imaginary frequency above this, 1/cm (default 50)"
    parser.add_argument("--frequency", type=float, default=50.0, help=text)
    text = f"chance of a false certificate (default {RISK})"
    parser.add_argument("--failure-probability", type=float, default=RISK, help=text)
    text = "all randomness is a function of it (default 0)"
    parser.add_argument("--seed", type=whole, default=0, help=text)
    text = f"the run stops after so many force calls (default {STEPS})"
    parser.add_argument("--steps", type=whole, default=STEPS, help=text)
    text = "the run stops at the first force call after so many seconds"
    parser.add_argument("--max-seconds", type=float, help=text)
    text = "certify the structure as it is, without relaxing it"
    parser.add_argument("--certify", action="store_true", help=text)
    text = "a file for the structure; with --certify for the imaginary mode, if there is one"
    parser.add_argument("-o", "--output", help=text)
    parser.add_argument("--log", help="a file for ASE's log, or - for the terminal")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_atoms(given: dict[str, Any]) -> int:
    """Relax a structure to a minimum and certify it; exit code 0 if certified, 1 if not."""
    try:
        from unsaddle.ase import command
    except ImportError as error:
        raise ImportError(
            f"{error.name} is missing: atoms needs the extra `ase`; "
            "type pip install 'unsaddle[ase]'"
        ) from error
    options, as_json = SimpleNamespace(**given), given["json"]
    words = {name: given[name] for name in WORDS}
    if options.output:
        command.writable(options.output)
    atoms = command.structure(options.structure, options.calculator)
    relaxed = None if options.certify else options.output
    try:
        if options.certify:
            shown = _watched(command.prove(atoms, most=options.steps, **words))
            ended, calls = OF_CERTIFY[shown.holds], shown.force_calls
        else:
            done = _watched(command.relax(atoms, options.fmax, options.steps, options.log, **words))
            shown, calls = done.certificate, done.force_calls
            ended = done.outcome or Outcome.BUDGET
        fields = command.summary(atoms, shown) | {"force_calls": calls}
    except (KeyboardInterrupt, ValueError, TypeError, ArithmeticError, OSError):
        _write(atoms, relaxed)
        raise
    except Exception as error:
        _write(atoms, relaxed)
        raise TheirError from error
    if fields["fmax"] > options.fmax and ended is Outcome.CERTIFIED:
        ended = Outcome.STALLED
    if relaxed:
        atoms.write(relaxed)
    elif options.output and shown.mode is not None:
        shown.mode.write(options.output)
    fields = {"outcome": ended.name, "sentence": command.in_words(ended)} | fields
    print(written(_plain(fields) if as_json else fields, as_json))
    return 0 if ended is Outcome.CERTIFIED else 1


def _write(atoms: Any, path: str | None) -> None:
    """Write how far a run has come that was cut short."""
    if path:
        atoms.calc = None  # whose last results may be of a trial
        atoms.write(path)


OF_CERTIFY = {
    True: Outcome.CERTIFIED,
    False: Outcome.NEGATIVE_CURVATURE,
    None: Outcome.UNCERTIFIED,
}


def _watched(steps: Any) -> Any:
    """Go through the steps, keep a line on the terminal up to date, and give the result."""
    progress, due = Progress(sys.stderr) if sys.stderr.isatty() else None, 0.0
    try:
        while True:
            line = next(steps)
            if progress is not None and time.monotonic() >= due:
                progress.show(line)
                due = time.monotonic() + progress.interval
    except StopIteration as end:
        return end.value
    finally:
        if progress is not None:
            progress.close()


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Give the fields as JSON can hold them, and the certificate's sentence beside its numbers."""
    shown = fields["certificate"]
    mode = shown.mode and {
        "frequency": shown.mode.frequency,
        "displacements": shown.mode.displacements,
    }
    known = {**vars(shown), "mode": mode, "sentence": str(shown)}
    return {**fields, "certificate": SimpleNamespace(**known)}
