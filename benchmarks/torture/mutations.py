"""Mutations: thirty small mistakes in what certificates rest on, and whether tests notice them.

python -m benchmarks.torture.mutations                  # all; writes their list for docs/torture.md
python -m benchmarks.torture.mutations core/resolution  # those of one file

Each is made in a copy of the project, so that nothing here changes.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.torture.report import MUTATIONS

PATIENCE = 600  # seconds for the tests of one mutation: after that it is not known
COPIED = ("src", "tests", "benchmarks", "docs", "examples", "pyproject.toml", "README.md")


class Mutation(NamedTuple):
    """A mistake, and the tests that ought to notice it."""

    file: str
    before: str
    after: str
    tests: str


FORMULAS = "tests/escapes/test_formulas.py"
GUARANTEES = f"{FORMULAS} tests/escapes/test_guarantees.py"
LANCZOS = f"{FORMULAS} tests/escapes/test_lanczos.py tests/escapes/test_guarantees.py"
EVIDENCE = "tests/core/test_evidence.py tests/core/test_certificate.py"
RESUME = "tests/numpy/test_resume.py tests/numpy/test_archive.py"
DRIVER = "tests/numpy/test_driver.py tests/numpy/test_interrupts.py"
ESCAPES = f"{FORMULAS} tests/escapes/test_escapes.py tests/escapes/test_hard_cases.py"
AUTO = "tests/methods/test_auto.py tests/methods/test_agd_auto.py"
STREAM = "tests/core/test_draws.py tests/core/test_ops.py"
LIST = (
    Mutation(
        "core/resolution.py",
        "visible_curvature(error) + ops.tiny(x)",
        "0 * error + ops.tiny(x)",
        EVIDENCE + " tests/numpy/test_certify.py",
    ),
    Mutation(
        "core/resolution.py",
        "failure_probability * 6 / (pi * episode) ** 2",
        "failure_probability * 6 / pi**2",
        "tests/core tests/escapes/test_guarantees.py",
    ),
    Mutation(
        "core/resolution.py",
        "ops.sqrt(2 * ops.size(x) / pi) / (",
        "ops.sqrt(2 / pi) / (",
        GUARANTEES,
    ),
    Mutation(
        "core/resolution.py",
        "curvature + self.error < -share * self.asked",
        "curvature < -share * self.asked",
        f"{FORMULAS} tests/core tests/numpy/test_certify.py tests/noise",
    ),
    Mutation(
        "core/resolution.py",
        "rate = curvature_tol - self.error * counted",
        "rate = curvature_tol + self.error * counted",
        "tests/core tests/escapes tests/numpy/test_certify.py",
    ),
    Mutation(
        "core/resolution.py",
        "2 * off / (sides * radius)",
        "off / (sides * radius)",
        "tests/core tests/numpy/test_certify.py tests/noise/test_radius.py",
    ),
    Mutation(
        "core/evidence.py",
        "certified = searched & (s.phase == PhaseName.CERTIFIED)",
        "certified = s.phase == PhaseName.CERTIFIED",
        EVIDENCE,
    ),
    Mutation(
        "core/evidence.py",
        "& resolution.shows(found.curvature)\n    asked",
        "\n    asked",
        EVIDENCE,
    ),
    Mutation(
        "core/evidence.py",
        "return raised & (given | weak)",
        "return raised & weak",
        "tests/core tests/noise/test_success.py",
    ),
    Mutation(
        "core/evidence.py",
        "stalled = s.stalled & among(s.phase, SHORT_OF_TOL)",
        "stalled = False",
        "tests/core tests/numpy/test_driver.py tests/descents",
    ),
    Mutation(
        "core/evidence.py", "ops.where(negative, 0, -1)", "ops.where(negative, 0, 1)", EVIDENCE
    ),
    Mutation(
        "escapes/recurrence.py",
        "(alpha + resolution.rate) * row.q - row.beta * row.q_before",
        "(alpha + resolution.rate) * row.q + row.beta * row.q_before",
        LANCZOS,
    ),
    Mutation("escapes/recurrence.py", "ops.sqrt(1 + q * q)", "ops.sqrt(2 + q * q)", LANCZOS),
    Mutation(
        "escapes/recurrence.py", "alpha + enough - row.beta", "alpha - enough - row.beta", LANCZOS
    ),
    Mutation(
        "escapes/recheck.py",
        "return ops.where(dip, DIP, claim), raised",
        "return claim, raised",
        f"{FORMULAS} tests/noise/test_success.py tests/noise/test_bending.py",
    ),
    Mutation(
        "escapes/recheck.py",
        "straight = error <=",
        "straight = error >= 0 * error + 0 *",
        "tests/escapes tests/noise/test_bending.py",
    ),
    Mutation(
        "escapes/backtracking_jump.py",
        "ops.where(j.turned, -j.reach / 2, -j.reach)",
        "j.reach / 2",
        f"{ESCAPES} {AUTO}",
    ),
    Mutation(
        "escapes/backtracking_jump.py",
        "good = (value <= wanted) & (value < j.value - visible)",
        "good = value <= j.value",
        f"{ESCAPES} {AUTO}",
    ),
    Mutation(
        "escapes/backtracking_jump.py",
        "ops.where(e.found == inf, CERTIFIED, failed)",
        "CERTIFIED",
        f"{ESCAPES} {AUTO} tests/escapes/test_deceived.py",
    ),
    Mutation(
        "escapes/jump.py",
        "pays = lowest <= jump.value -",
        "pays = lowest <= jump.value +",
        f"{ESCAPES} tests/paper/test_fidelity.py",
    ),
    Mutation(
        "escapes/jump.py",
        "stays = ops.where(bent, JUMP_FAILED, PROVE)",
        "stays = PROVE",
        f"{ESCAPES} tests/escapes/test_proof.py",
    ),
    Mutation(
        "escapes/jump.py",
        "ops.where(slope >= 0, -length, length)",
        "ops.where(slope >= 0, length, -length)",
        f"{ESCAPES} tests/paper/test_fidelity.py",
    ),
    Mutation(
        "numpy/ops.py", "(OWN_STREAM, seed, episode, which)", "(seed, episode, which)", STREAM
    ),
    Mutation(
        "numpy/ops.py", "(OWN_STREAM, seed, episode, which)", "(OWN_STREAM, seed, 1, which)", STREAM
    ),
    Mutation(
        "core/kernel.py",
        "episode=s.episode + 1",
        "episode=s.episode",
        "tests/core tests/numpy/test_resume.py tests/escapes",
    ),
    Mutation(
        "numpy/starts.py",
        "share = failure_probability / len(points)",
        "share = failure_probability",
        "tests/numpy/test_features.py tests/numpy/test_result.py",
    ),
    Mutation(
        "numpy/oracle.py",
        "if -inf < value < self.lowest:",
        "if value < self.lowest and self.together:",
        DRIVER,
    ),
    Mutation(
        "numpy/result.py", "outcome, shown = Outcome.INTERRUPTED, _undecided(run)", "pass", DRIVER
    ),
    Mutation(
        "numpy/checkpoint.py",
        "array = array[: _used(array)]",
        "array = array[: _used(array) // 2]",
        RESUME,
    ),
    Mutation("numpy/archive.py", "prod(shape) * dtype.itemsize != len(data)", "False", RESUME),
    Mutation("numpy/minimize.py", "    _same_promise(run, checkpoint)\n", "", RESUME),
)


def caught(mutation: Mutation) -> bool:
    """Make a mutation in a copy of the project, and say whether its tests fail."""
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            copy = shutil.copytree if Path(name).is_dir() else shutil.copy
            copy(name, Path(folder, name))
        path = Path(folder, "src/unsaddle", mutation.file)
        text = path.read_text()
        if mutation.before not in text:
            raise ValueError(f"{mutation.file} has no {mutation.before!r}")
        path.write_text(text.replace(mutation.before, mutation.after, 1))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        chosen = ["--bare", "-m", "not (torch or jax or browser or nightly)"]
        words = {**os.environ, "PYTHONPATH": "src", "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                [*command, *chosen, *mutation.tests.split()],
                cwd=folder, env=words, capture_output=True, timeout=PATIENCE,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:  # a busy machine, or a mutation that hangs
            raise RuntimeError(f"{mutation.after}: its tests took {PATIENCE} s") from error
    if done.returncode not in (0, 1, 2):
        raise RuntimeError(done.stdout.decode()[-2000:])
    return done.returncode != 0


def main() -> int:
    """Try all mutations, or those of files that are named."""
    known = Path(MUTATIONS)
    found = (
        {(it["file"], it["after"]): it for it in json.loads(known.read_text())}
        if known.exists()
        else {}
    )
    for mutation in LIST:
        if sys.argv[1:] and not any(name in mutation.file for name in sys.argv[1:]):
            continue
        result = {**mutation._asdict(), "caught": caught(mutation)}
        found[mutation.file, mutation.after] = result
        print("caught" if result["caught"] else "MISSED", mutation.file, mutation.after, flush=True)
        listed = [found[it.file, it.after] for it in LIST if (it.file, it.after) in found]
        known.write_text(json.dumps(listed, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
