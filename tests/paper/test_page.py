"""docs/reproduction.md: every number that it says was measured is one that was.

docs/claims.json is what `unsaddle reproduce all` wrote with seed 0. A number of the page may be
rounded; it is compared with those of the claims that its row names, or of what its paragraph is
about, and may be nothing else, but for the parameters listed here.
"""

import json
import re
from collections import Counter

import numpy as np
import pytest

from tests.docs.test_docs import ROOT, table

pytest.importorskip("matplotlib")

from tests.paper.test_measured import DENSE, EXPECTED
from unsaddle.paper import claims, figures
from unsaddle.paper.experiment import Experiment
from unsaddle.paper.extras import growth
from unsaddle.paper.extras.quadratics import dense, drawn, lanczos, quadratic, quotients

PAGE = ROOT / "docs" / "reproduction.md"
TEXT = PAGE.read_text()
RECORD = json.loads((ROOT / "docs" / "claims.json").read_text())
CLAIMS = {claim["id"]: claim for claim in RECORD["claims"]}
ID = re.compile(r"\b(?:fig\d|growth|stability|robustness|table1|theorems)\.\d\b")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(%)?")
SERIES = re.compile(r"(?<![\d.])((?:\d+, )+)(\d+)%")  # 53, 91, 99%


def numbers(text):
    """Give the numbers of a text and half a unit of the last digit of each; percents as shares."""
    text = SERIES.sub(lambda found: found[1].replace(",", "%,") + found[2] + "%", text)
    for found in NUMBER.finditer(text):
        shown = found[0].rstrip("%").replace(",", "")
        mantissa, _, power = shown.partition("e")
        unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
        yield float(shown) / (100 if found[1] else 1), 0.5001 * unit / (100 if found[1] else 1)


def pool(*sources):
    """Give the numbers of claims, by id, and of tables, by name: as measured, and in the words."""
    for source in sources:
        for each in RECORD["tables"].get(source, ()):
            yield from (value for cell in each for value, _ in numbers(cell))
        for name, reading in CLAIMS.get(source, {"readings": {}})["readings"].items():
            shares = [
                v for v in (reading["value"], reading["low"], reading["run"]) if v is not None
            ]
            yield from shares
            yield reading["samples"]
            yield from (value for value, _ in numbers(f"{name} {reading['measured']}"))


def strangers(text, known):
    """Give the numbers of a text that none of the known ones rounds to."""
    known = np.array([*known])
    return [value for value, half in numbers(text) if not (abs(known - value) <= half).any()]


VERDICT = {claims.HOLDS: "holds", claims.ONLY: "only", claims.FAILS: "does not hold"}
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and ID.match(line[2:])
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[2]}"[:40])
def test_a_row_says_what_its_claims_measured(row):
    named = ID.findall(row[0])
    if row[-1]:
        assert {VERDICT[CLAIMS[name]["verdict"]] for name in named} == {
            word for word in VERDICT.values() if row[-1].startswith(word)
        }
    measured = " ".join(row[2:-1]).replace("r = 0.01", "r")
    assert strangers(measured, pool(*named)) == []


def test_every_claim_has_its_row():
    assert {name for row in ROWS for name in ID.findall(row[0])} == set(CLAIMS)


def test_how_many_claims_hold():
    counts = Counter(claim["verdict"] for claim in CLAIMS.values())
    assert (
        f"Of {len(CLAIMS)} claims {counts[claims.HOLDS]} hold, {counts[claims.ONLY]} do so only "
        f"under a reading and {counts[claims.FAILS]} do not hold."
    ) in re.sub(r"\s+", " ", TEXT)


def test_how_many_statements_of_the_captions_hold():
    counts = Counter(each["verdict"] for each in CLAIMS.values() if each["kind"] == claims.CAPTION)
    assert (
        f"say {counts.total()} things of their histograms: {counts[claims.HOLDS]} hold literally, "
        f"{counts[claims.ONLY]} hold only under a reading that we found by scanning what the "
        f"captions leave open, and {counts[claims.FAILS]} does not hold."
    ) in re.sub(r"\s+", " ", TEXT)


def test_where_the_sentences_stand():
    shown = {row[0]: [*map(int, row[1:])] for row in table(PAGE, "where it stands")}
    for kind, numbers in shown.items():
        counts = Counter(each["verdict"] for each in CLAIMS.values() if each["kind"] == kind)
        assert numbers == [counts.total(), *(counts[each] for each in VERDICT)], kind
    assert {*shown} == {each["kind"] for each in CLAIMS.values()}


def by_figure(*names):
    return [claim for claim in CLAIMS if claim.split(".")[0] in names]


LEARNED = {  # how a paragraph begins -> what it is about, and the parameters in it
    "NCE decides": (by_figure("fig4", "fig5", "fig6"), {2, 4, 5, 6, 0.9}),
    "The larger step": (["radius"], {90, 0.1, 4, 4.5}),
    "Which noise": (["fig2.1", "fig2.2"], {2, 3, 0.6}),
    "Growth with": (["growth", "growth.1"], {10}),
    "Renormalisation": (["stability", "stability.1"], {100, 0.95, 1}),
    "The robustness": (
        ["robustness", *(f"robustness.{i}" for i in (1, 2, 3))],
        {2, 0, -4, 4, 10},
    ),
    "There is room": (["growth"], {0.9, 1, -0.01}),
    "As printed": (["table1"], {10_000, 0.1}),
    "A saddle costs": (["table1", "table1.1", "table1.2"], {-1.5, 0.95, 1, -0.5, -1.04}),
    "The open question": (["applications"], {32, 16, 1e-7}),
}


@pytest.mark.parametrize("begins", LEARNED)
def test_a_paragraph_says_what_was_measured(begins):
    paragraphs = re.split(r"\n(?=\* |\n)", TEXT.partition("## What we learned")[2])
    (own,) = [each for each in paragraphs if each.strip().startswith(f"* **{begins}")]
    sources, given = LEARNED[begins]
    assert strangers(own, [*pool(*sources), *given]) == []


def test_table_1_is_the_table():
    """Cell by cell, in the columns that the page has."""
    head, *rows = RECORD["tables"]["table1"]
    (shown,) = [line for line in TEXT.splitlines() if line.startswith("| method | way |")]
    columns = [head.index(name.strip()) for name in shown.strip("|").split("|")]
    assert table(PAGE, "method | way") == [[row[column] for column in columns] for row in rows]


@pytest.mark.slow
def test_the_independent_measurement():
    """Ours with 600 eigenvalues from the record, with 400 measured here, to a step."""
    lines = [line.strip("| ").split(" | ") for line in
             TEXT.partition("| method | other code")[2].splitlines()[2:7]]  # fmt: skip
    cells = {label: [[*map(float, pair.split(", "))] for pair in pairs] for label, *pairs in lines}
    assert {label: tuple(each[0]) for label, each in cells.items() if label in DENSE} == DENSE
    rows = {(row[0], row[1]): row[-2] for row in RECORD["tables"]["growth"]}
    eigenvalues, multiplicities = dense(0.01, 10**6, 400)
    f, squares, bars = quadratic(eigenvalues), drawn(multiplicities, 0, 1000), [-0.0025, -0.009]
    for label, (_, ours, shown) in cells.items():
        assert shown == [
            float(rows[f"dense: {bar}", label].replace(",", "")) for bar in growth.BARS
        ]
        if label == growth.LIMIT:
            found = [growth.nine_tenths(each) for each in lanczos(f, squares[:200], bars, 150)]
        else:
            values = growth.symbols(f, growth.RACERS[label][1]) | {"r": 1e-6}
            method = growth.RACERS[label][0]
            found = growth.through(quotients(method, f, values, squares, 1500), bars)
        np.testing.assert_allclose(ours, found, atol=1)
    assert f"has {len(EXPECTED) + 6} of them" in TEXT


@pytest.mark.parametrize("name", ["fig1.1", "fig4.2", "fig7.2", "fig8.2"])
def test_the_record_is_of_this_code(name):
    """Measured again from 20,000 of its samples: five standard errors of the difference."""
    figure, _, number = name.partition(".")
    declared = figures.FIGURES[figure]()
    claim = declared.claims[int(number) - 1]
    experiment = Experiment(declared.panels, RECORD["seed"], 20_000)
    for reading, values in claim.readings.items():
        p, kept = claim.ask(experiment.under(values)).value, CLAIMS[name]["readings"][reading]
        assert abs(p - kept["value"]) < 5 * np.sqrt(p * (1 - p) / 20_000) + 1e-4
    assert [*CLAIMS[name]["readings"]] == sorted(claim.readings)
