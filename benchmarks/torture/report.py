"""The page: a table for every ordeal, and the mutations."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scipy.stats import beta, binom

from benchmarks.torture.trial import FALSE

LEVEL = 1e-6  # chance that a row of true certificates is called a failure
MUTATIONS = "benchmarks/results/mutations.json"


@dataclass
class Row:
    """A line of the table."""

    name: str
    chance: float  # delta, zero where nothing may go wrong
    trials: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)  # trial, and what was wrong

    @property
    def false(self) -> int:
        """How many certificates were false."""
        return sum(wrong.startswith(FALSE) for _, wrong in self.wrong)

    @property
    def failures(self) -> list[tuple[str, str]]:
        """What went wrong; false certificates only if they are more than delta allows."""
        allowed = binom.sf(self.false - 1, max(self.trials, 1), self.chance) > LEVEL
        return [it for it in self.wrong if not (allowed and it[1].startswith(FALSE))]

    @property
    def bound(self) -> float:
        """Upper end of the 95 % interval of Clopper and Pearson, of what goes wrong."""
        many = self.false if self.chance else len(self.wrong)
        return 1.0 if many == self.trials else float(beta.ppf(0.95, many + 1, self.trials - many))

    def kept(self) -> dict[str, Any]:
        """Give what the page needs."""
        return {
            "name": self.name, "chance": self.chance, "trials": self.trials, "false": self.false,
            "failures": [[trial, wrong.splitlines()[-1][:300]] for trial, wrong in self.failures],
            "bound": self.bound,
        }  # fmt: skip

    def line(self) -> str:
        """Say it in one line."""
        return (
            f"{self.name}: {self.trials} trials, {self.false} false, {len(self.failures)} failures"
        )


def page(known: dict[str, Any]) -> str:
    """Write the page."""
    from benchmarks.torture.ordeals import ORDEALS

    known = {name: known[name] for name in ORDEALS if name in known}
    total = sum(row["trials"] for it in known.values() for row in it["rows"])
    failed = sum(len(row["failures"]) for it in known.values() for row in it["rows"])
    minutes = sum(it["processor"] for it in known.values()) / 60
    absent = ", ".join(name for name in ORDEALS if name not in known)
    parts = [HEAD.format(total=total, failed=failed, minutes=minutes)]
    parts += [f"Not in the tables, as they were not run for them: {absent}."] if absent else []
    if not Path(MUTATIONS).exists():
        parts += ["The mutations of `benchmarks/torture/mutations.py` were not run for this page."]
    for name, it in known.items():
        head = "| row | trials | failures | 95 % bound |"
        if any(row["chance"] for row in it["rows"]):
            head = "| row | trials | false | delta | failures | 95 % bound |"
        each = round(1 / it["share"])
        share = "" if each == 1 else f", only every {each}th trial of all"
        parts += [f"## {name}", ORDEALS[name].says, _took(it, share)]
        lines = [head, "|" + " --- |" * (head.count("|") - 1)]
        for row in it["rows"]:
            extra = f" {row['false']} | {row['chance']:g} |" if "delta" in head else ""
            lines += [
                f"| {row['name']} | {row['trials']} |{extra} {len(row['failures'])} | "
                f"{row['bound']:.2g} |"
            ]
        parts += ["\n".join(lines)]
        found = [(row["name"], *it) for row in it["rows"] for it in row["failures"]]
        parts += [f"* `{name}/{row}/{trial}`: {wrong}" for row, trial, wrong in found]
    if Path(MUTATIONS).exists():
        parts += [_mutations(json.loads(Path(MUTATIONS).read_text()))]
    return "\n\n".join(parts) + "\n"


def _took(it: dict[str, Any], share: str) -> str:
    """Say of an ordeal with which seed it was run, and what it took."""
    return f"Seed {it['seed']}{share}; {it['processor']} s of processor time, {it['seconds']} s."


def _mutations(found: list[dict[str, Any]]) -> str:
    from benchmarks.torture.mutations import LIST

    caught, absent = sum(it["caught"] for it in found), len(LIST) - len(found)
    lines = [
        "## Mutations",
        f"Of {len(found)} mutations of certificate, resolution, jump, checkpoint and seeds, "
        f"each run by `python -m benchmarks.torture.mutations` against the tests named, {caught} "
        f"are caught{f', and {absent} more were not run' if absent else ''}.",
        "| file | before | after | tests | caught |\n| --- | --- | --- | --- | --- |",
    ]
    rows = [
        f"| {it['file']} | `{_cell(it['before'])}` | `{_cell(it['after'])}` | {it['tests']} | "
        f"{'yes' if it['caught'] else 'no'} |"
        for it in found
    ]
    return "\n\n".join(lines) + "\n" + "\n".join(rows)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


HEAD = """# Torture

What an adversary would try, as a program: `make torture` runs it in two processes and writes this
page, `python -m benchmarks.torture fuzz --share 0.1` runs a tenth of one part. A sample of it is
part of `make test`. The last run took {minutes:.0f} minutes of processor time, half of that on two
idle cores: {total} trials, {failed} failures. A failure that was found is run again by
`python -m benchmarks.torture --replay 'fuzz/certify/curvature_tol=nan'`.

Where a certificate may be false with probability delta, a row fails if so many false ones would
come by chance once in a million rows. The bound is the upper end of the 95 % interval of Clopper
and Pearson for the chance of what the row counts."""
