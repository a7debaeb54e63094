"""The paper's numbers, measured again: probabilities, races, growth, and how sure they are."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from tests.often import most_at_night
from unsaddle import landscapes
from unsaddle.paper import batch, claims, declare, experiment, figures, lockstep
from unsaddle.paper.experiment import Experiment
from unsaddle.paper.extras import growth, robustness
from unsaddle.paper.extras.quadratics import dense, drawn, lanczos, quadratic, quotients, rayleigh

pytestmark = pytest.mark.slow

# share <= 0.9 (0.6 in figure 2, 0.95 in figure 7) -> what independent code measured (100,000 draws)
EXPECTED = [
    ("fig1", "theirs", {}, 0.436),
    ("fig1", "theirs", {"circle": 1}, 0.228),
    ("fig1", "ours", {}, 0.027),
    ("fig1", "ours", {"extract": 0.25}, 1.0),
    ("fig2", "theirs", {}, 0.59),
    ("fig2", "theirs", {"kick": 0.0, "sigma": 0.5}, 0.59),
    ("fig2", "theirs", {"kick": 2e-4}, 1.0),
    ("fig2", "ours", {"start": 0}, 0.170),
    ("fig2", "ours", {"start": 0, "sigma": 0.5}, 0.170),
    ("fig2", "ours", {"start": 1}, 0.025),
    ("fig4", "theirs", {"theta": 0.111}, 0.021),
    ("fig4", "theirs", {"theta": 0.3}, 0.231),
    ("fig4", "ours", {"theta": 0.111}, 0.012),
    ("fig4", "ours", {"theta": 0.3}, 0.002),
    ("fig5", "theirs", {"theta": 0.111}, 0.0015),
    ("fig5", "ours", {"theta": 0.111}, 0.0094),
    ("fig5", "theirs", {"theta": 0.25}, 0.084),
    ("fig5", "ours", {"theta": 0.25}, 0.051),
    ("fig5", "theirs", {"theta": 0.3}, 0.256),
    ("fig5", "ours", {"theta": 0.3}, 0.070),
    ("fig6", "theirs", {"theta": 0.061}, 0.098),
    ("fig6", "ours", {"theta": 0.061}, 0.204),
    ("fig6", "theirs", {"theta": 0.1}, 0.21),
    ("fig6", "ours", {"theta": 0.1}, 0.17),
    ("fig6", "theirs", {"theta": 0.2}, 0.83),
    ("fig6", "ours", {"theta": 0.2}, 0.038),
    ("fig6", "theirs", {"theta": 0.3}, 1.0),
    ("fig6", "ours", {"theta": 0.3}, 0.109),
    ("fig7", "theirs", {"zeta": 0.556, "extract": "search"}, 1 - 0.015),
    ("fig7", "theirs", {"zeta": 0.556, "extract": "point"}, 1.0),
    ("fig7", "theirs", {"zeta": 0.9, "extract": "search"}, 1 - 0.001),
    ("fig8", "theirs", {"zeta": 0.7}, 0.002),
    ("fig8", "theirs", {"zeta": 0.85}, 0.27),
    ("fig8", "theirs", {"zeta": 0.878}, 0.41),
    ("fig8", "ours", {"theta": 0.061}, 0.203),
    ("fig8", "ours", {"theta": 0.2}, 0.039),
    ("fig8", "ours", {"theta": 0.3}, 0.109),
]
THRESHOLDS = {"fig2": 0.6, "fig7": 0.95}
M = 20_000


@pytest.mark.parametrize(
    ("name", "arm", "changes", "expected"),
    most_at_night([*{case[:2]: case for case in EXPECTED}.values()], EXPECTED),
)
def test_probabilities_agree_with_independent_code(name, arm, changes, expected):
    """Four standard errors of both, and half a digit: a shift of 1.3% at p = 0.25 is seen."""
    (panel,) = figures.FIGURES[name]().panels
    p = np.mean(experiment.descents(panel, arm, changes, 5, M) <= THRESHOLDS.get(name, 0.9))
    digit = 0.005 if round(expected, 2) == expected else 0.0005
    error = 4 * np.sqrt(expected * (1 - expected) * (1 / M + 1e-5))
    assert abs(p - expected) <= error + digit


def test_figure_3_agrees_with_independent_code():
    panels = figures.FIGURES["fig3"]().panels
    for arm, expected in (("ours", (0.53, 0.91, 0.99)), ("theirs", (0.0, 0.0, 0.93))):
        for panel, share in zip(panels, expected, strict=True):
            p = np.mean(experiment.descents(panel, arm, {}, 5, M) > 0.9)
            assert abs(p - share) <= 0.005 + 4 * np.sqrt(max(share * (1 - share), 1e-4) / M)


LEVELS = [("fig1", 0.9), ("fig2", 0.6), ("fig3", 0.9), ("fig5", 0.9), ("fig7", 0.95), ("fig8", 0.9)]


@pytest.mark.parametrize(("name", "threshold"), LEVELS)
def test_sectors_are_what_a_line_search_for_each_sample_finds(name, threshold):
    """3,000 directions, evenly: the same answer for each."""
    panel = figures.FIGURES[name]().panels[0]
    how = experiment.Way(panel, "ours", {})
    angles = np.linspace(0, 2 * np.pi, 3001)
    points = 0.1 * np.stack([np.cos(angles), np.sin(angles)], -1)
    found = how.above(threshold)(points)
    np.testing.assert_array_equal(found, how.descent(points) > threshold)
    assert 0 < found.mean() < 1


def test_the_literal_reading_is_among_the_readings():
    second, third = (figures.FIGURES[name]().claims for name in ("fig2", "fig3"))
    for claim in second[2], second[3]:  # the race, and "converges faster"
        assert next(iter(claim.readings.values())) == {"start": 0, "kick": 0.02 * 0.01}
    literal, by_text, *_ = third[0].readings.values()
    assert literal == {"eps": 0.01, "eta": 1 / landscapes.h(2, 0.01).smoothness}
    assert by_text == {"eta": 1 / landscapes.h(2, 1.0).smoothness} == {"eta": 4 / 23}


def test_a_reading_with_another_eps_is_of_another_landscape():
    """At eps = 0.01 and eta = 1 a search is done at once and PGD has hardly moved."""
    panel = figures.FIGURES["fig3"]().panels[0]
    for arm, share in (("ours", 1.0), ("theirs", 0.0)):
        found = experiment.Way(panel, arm, {"eps": 0.01, "eta": 1.0})
        assert found.f.infimum == -found.unit == pytest.approx(-1e-4)
        (row,) = Experiment((panel,), 1, 300, found.values).above(arm, 0.9)
        assert row.mean() == share


def test_without_nce_values_are_not_looked_at():
    """At theta = 0.3 NCE finds nothing to do: the same paths with it, where values count."""
    panel = figures.FIGURES["fig4"]().panels[0]
    with_nce, without = (
        experiment.descents(panel, "theirs", {"theta": 0.3, "nce": nce}, 1, 300) for nce in (1, 0)
    )
    np.testing.assert_array_equal(with_nce, without)


def test_a_search_that_swings_is_followed_until_it_is_still():
    """At n = 1e5 90% of ANCGD's searches are through at 23, 31% at 30 and 90% for good at 34."""
    rows = growth.on_h("ANCGD", 10**5, 1.0, 0.05, 0, 3000).mean(-1)
    assert (claims.reached(rows), claims.reached(rows, lasting=True)) == (23, 34)
    assert rows[23:33].min() < 0.4
    assert len(rows) == 34 + list(rows[33:] > 0.97).index(True) + experiment.PATIENCE - 1


def test_growth_is_measured_under_the_captions_reading_too(monkeypatch):
    """NC-finding takes one step at any n if eta = 1/l; with eps = 0.01 PGD takes hundreds."""
    monkeypatch.setattr(growth, "DIMENSIONS", (10, 100))
    monkeypatch.setattr(growth, "STARTS", 600)
    drawn = {"NC-finding": (11.6, np.array([11.0, 12.0])), "PGD": (23.5, np.array([23.0, 24.5]))}
    claim = growth.faster(drawn, 0, lambda: None)
    literal, by_text, as_drawn = claim["readings"].values()
    assert claim["verdict"] == claims.HOLDS
    assert "NC-finding 0.0" in literal["measured"]
    assert literal["value"] > 80
    assert 1 < by_text["value"] < 10
    assert as_drawn["measured"].endswith("NC-finding 11.6: 2.03 times")
    assert (as_drawn["value"], as_drawn["samples"], literal["samples"]) == (11.9, 100_000, 600)


def test_nce_is_among_the_readings_of_every_comparison_with_pagd():
    for name in ("fig4", "fig5", "fig6"):
        declared = figures.FIGURES[name]()
        for claim in declared.claims:
            if "PAGD" in claim.words or "halves" in claim.words:
                literal, *others = claim.readings.values()
                assert literal | {"nce": 1} in others, (name, claim.words)


def test_ancgd_has_no_nce_in_its_window_and_pagd_is_slower_for_it():
    """Figure 4 by theory: none of 300 is through at 40, all are at 120."""
    panel = figures.FIGURES["fig4"]().panels[0]
    theory = declare.symbols(panel.landscape, 0.05)["theta"]
    found = {
        (arm, nce): experiment.descents(panel, arm, {"theta": theory, "nce": nce}, 1, 300, times)
        for arm, times in (("ours", [20]), ("theirs", [40, 120]))
        for nce in (0, 1)
    }
    np.testing.assert_array_equal(found["ours", 0], found["ours", 1])
    slow, fast = ((found["theirs", nce] > 0.9).mean(-1) for nce in (1, 0))
    assert slow.tolist() == [0, 1]
    assert fast[0] > 0.9
    assert np.median(found["theirs", 1][0]) == pytest.approx(0.08, abs=0.01)  # it does move


def test_samples_in_different_phases_do_not_see_each_other():
    """PAGD with NCE, 20 samples together and each alone: the same to the last bit."""
    panel = figures.FIGURES["fig5"]().panels[0]
    values = panel.theirs.values | {"theta": 0.2, "nce": 1}
    run = lambda seeds: next(  # noqa: E731
        lockstep.trajectory("pagd", panel.landscape, values, [45], seeds)
    )
    seeds = np.arange(20)
    np.testing.assert_array_equal(run(seeds), np.concatenate([run(seeds[i:][:1]) for i in seeds]))


def test_what_a_race_has_seen_is_not_run_again(monkeypatch):
    """Figure 1: the times of the other claims are rows of the race's, to the last bit."""
    panel = figures.FIGURES["fig1"]().panels[0]
    alone, after = Experiment((panel,), 1, 300), Experiment((panel,), 1, 300)
    after.curve("theirs", 0.9, range(1, 101))
    fresh = alone.above("theirs", 0.9)
    monkeypatch.setattr(experiment, "trajectory", None)
    np.testing.assert_array_equal(after.under({"lasting": 1}).above("theirs", 0.9), fresh)
    with pytest.raises(TypeError):
        after.curve("theirs", 0.9, range(1, 102))


def test_a_race_for_good_waits_until_nothing_swings_back():
    shares = np.array([[0.0, 0.95], [0.92, 0.8], [0.5, 0.91], [0.9, 0.9]])
    assert claims.reached(shares).tolist() == [2, 1]
    assert claims.reached(shares, lasting=True).tolist() == [4, 3]
    assert claims.reached(shares[:1], 0.96).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("label", growth.RACERS)
def test_one_run_of_the_kernel_gives_every_start_on_a_quadratic(label):
    """Against the kernel from the starts themselves, to ten digits."""
    eigenvalues, multiplicities = dense(0.01, 40)
    f, squares = quadratic(eigenvalues), drawn(multiplicities, 0, 5)
    (method, eta), seeds = growth.RACERS[label], np.arange(5)
    values = growth.symbols(f, eta) | {"r": 1e-6}
    starts = batch.Batch(starts=np.sqrt(squares))
    runs = lockstep.trajectory(method, f, values, range(1, 71), seeds, starts)
    for own, linear in zip(runs, quotients(method, f, values, squares, 70), strict=True):
        np.testing.assert_allclose(rayleigh(eigenvalues, own), linear, rtol=1e-10, atol=1e-12)


# until 90% of the starts have lambda/4, and 0.9 lambda: n = 1e6, by independent code
DENSE = {"NC-finding": (140, 1347), "ANCGD": (81, 462), "NEON+": (71, 516),
         "ANC, eta = 1/l": (34, 223)}  # fmt: skip


@pytest.mark.parametrize(("label", "expected"), DENSE.items())
def test_a_dense_spectrum_agrees_with_independent_code(label, expected):
    """If the band has 400 distinct eigenvalues: 1,000 starts, 3% and a step; with 600 it is 10%."""
    times = {}
    for distinct in (400, 600):
        eigenvalues, multiplicities = dense(0.01, 10**6, distinct)
        f, squares = quadratic(eigenvalues), drawn(multiplicities, 0, 1000)
        method, eta = growth.RACERS[label]
        values = growth.symbols(f, eta) | {"r": 1e-6}
        times[distinct] = growth.through(
            quotients(method, f, values, squares, 1500), [-0.0025, -0.009]
        )
    np.testing.assert_allclose(times[400], expected, rtol=0.03, atol=1)
    assert times[600][0] > times[400][0]
    assert times[600][1] < times[400][1]


def test_methods_whose_points_are_the_same_share_their_quotients():
    """Found for one, given for the other: the same as alone, and not where they differ."""
    eigenvalues, multiplicities = dense(0.01, 40)
    f, squares, known = quadratic(eigenvalues), drawn(multiplicities, 0, 5), {}
    for label in ("NC-finding", "NEON", "NEON+"):
        method, eta = growth.RACERS[label]
        values = growth.symbols(f, eta) | {"r": 1e-6}
        shared = list(quotients(method, f, values, squares, 100, known))
        np.testing.assert_allclose(shared, [*quotients(method, f, values, squares, 100)], 1e-9)
    assert [len(each) for each in known.values()] == [2, 2]


def test_lanczos_needs_no_more_gradients_than_any_other():
    eigenvalues, multiplicities = dense(0.01, 100)
    f, squares = quadratic(eigenvalues), drawn(multiplicities, 0, 10)
    bars = [-0.0025, -0.009]
    least = lanczos(f, squares, bars, 150)
    for method, eta in growth.RACERS.values():
        rows = np.array(
            list(quotients(method, f, growth.symbols(f, eta) | {"r": 1e-6}, squares, 150))
        )
        for row, bar in zip(least, bars, strict=True):
            first = np.where((rows <= bar).any(0), np.argmax(rows <= bar, 0) + 1, np.inf)
            assert (row <= first + 1).all()  # one gradient measures the error of a difference
    assert np.isfinite(least).all()


def test_how_sure_the_smallest_radius_is():
    """By hand: at 275 of 300 the radius may be the next one, and a run shows it by chance."""
    radii = 10.0 ** np.arange(-3, 1)
    sharp = np.array([[[0, 1, 1, 1], [0, 0, 0, 1]]], float)
    measured = robustness.steadier(radii, sharp)
    assert (measured.value, measured.low, measured.high, measured.run) == (
        pytest.approx(100), pytest.approx(100), pytest.approx(100), 1.0)  # fmt: skip
    measured = robustness.steadier(radii, np.array([[[0, 275 / 300, 1, 1], [0, 0, 0, 1]]]))
    chance = robustness.binom.sf(269, 300, 275 / 300)
    assert (measured.value, measured.low) == (pytest.approx(100), pytest.approx(10))
    assert measured.run == pytest.approx(chance)
    assert 0.8 < chance < 0.95
    assert measured.samples == 300


def test_every_caption_has_its_claims():
    """Each kind of sentence, in the figures whose captions have it."""
    kinds = {
        "converges faster than": "1 2 4 5 6 7 8",
        "from a uniform circle": "1 2 4 7",
        "typically needs less than": "1 2 4 5 6 7 8",
        "decrease": "1 2 4 5 7 8",
        "dominated": "6",
        "similar": "3",
    }
    for words, numbers in kinds.items():
        has = [name[3:] for name, make in figures.FIGURES.items()
               if any(words in claim.words for claim in make().claims)]  # fmt: skip
        assert has == numbers.split(), words


def test_directions_gather_and_ours_are_ahead():
    """As the left halves say: of a uniform circle 26% have the curvature that 99% have at 30."""
    panel = figures.FIGURES["fig1"]().panels[0]
    start = panel._replace(ours=panel.ours._replace(times=(0,)))
    shares = [
        claims.aligned("ours", 1.0, 0.9)(Experiment((each,), 1, M)).value for each in (start, panel)
    ]
    assert shares == pytest.approx([0.257, 0.991], abs=0.013)
    assert "26% have" in figures.FIGURES["fig1"]().claims[4].note
    ahead = claims.ahead(0.9)(Experiment((panel,), 1, 3000))
    assert ahead.satisfied
    assert ahead.run == 1
    swapped = panel._replace(ours=panel.theirs, theirs=panel.ours)
    behind = claims.ahead(0.9)(Experiment((swapped,), 1, 3000))
    assert (behind.satisfied, behind.run) == (False, 0)


def test_a_sample_that_ends_before_its_time_is_no_sample(monkeypatch):
    """With the certificate on, a search in a bowl ends as soon as it is certified."""
    run = {"method": "pgd+nc", "f": quadratic(np.array([0.5, 1.0])), "times": [90]}
    run |= {"values": {"eta": 0.5, "r": 0.1}, "seeds": np.arange(5)}
    assert len(next(lockstep.trajectory(**run))) == 5
    plain = {k: v for k, v in lockstep.NO_EARLY_STOP.items() if k != "failure_probability"}
    monkeypatch.setattr(lockstep, "NO_EARLY_STOP", plain)
    with pytest.raises(RuntimeError, match="ended before step 90"):
        next(lockstep.trajectory(**run))


def test_the_reduction_to_two_coordinates_is_exact_in_distribution():
    """Figure 3 at n = 10, in all ten coordinates: 20,000 samples, 5 standard errors."""
    panel = figures.FIGURES["fig3"]().panels[0]
    whole = panel._replace(landscape=landscapes.h(10, 1.0), ops=batch.BATCH)
    shares = [
        np.mean(experiment.descents(each, "ours", {}, 1, M)[0] > 0.9) for each in (panel, whole)
    ]
    assert abs(shares[0] - shares[1]) < 5 * np.sqrt(0.5 / M)
