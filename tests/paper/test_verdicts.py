"""What a claim is judged by: intervals, vacuous readings, and races that are not finished."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from unsaddle.paper import claims
from unsaddle.paper.experiment import Experiment

pytestmark = pytest.mark.slow


class Shares(Experiment):
    """An experiment whose samples are above the threshold in given shares, by arm and time."""

    def __init__(self, m, panels=1, **arms):
        super().__init__((None,) * panels, 0, m)
        self.arms = arms

    def curve(self, arm, threshold, times, which=0, stop=np.inf):
        shares = np.array(self.arms[arm], float).reshape(len(self.panels), -1, 1)
        return np.arange(self.m) < self.m * shares[which]

    def above(self, arm, threshold, which=0):
        return self.curve(arm, threshold, (), which)


HALVES = ("theirs", "<=", 0.9, ">", 0.2), ("ours", "<=", 0.9, "<", 0.05)


@pytest.mark.parametrize(
    ("ours", "theirs", "least"), [(0.98, 0.7, 0.03), (0.99, 0.78, 0.02), (0.9, 0.7, -0.05)]
)
def test_both_halves_have_the_interval_of_the_smaller_margin(ours, theirs, least):
    measured = claims.both(*HALVES)(Shares(1000, ours=ours, theirs=theirs))
    assert measured.value == pytest.approx(least)
    (their_low, their_high), (our_low, our_high) = (
        claims.wilson(1 - above, 1000) for above in (theirs, ours)
    )
    assert measured.low == pytest.approx(min(their_low - 0.2, 0.05 - our_high))
    assert measured.high == pytest.approx(min(their_high - 0.2, 0.05 - our_low))
    assert measured.satisfied == (least > 0)


def test_what_is_true_of_any_method_that_has_not_arrived_is_vacuous():
    """A comparison is not: to be behind is what it says of the other."""
    for above, vacuous in ((0.0, True), (0.01, False)):
        for ask in (claims.share(*HALVES[0]), claims.both(*HALVES)):
            measured = ask(Shares(10_000, ours=0.99, theirs=above))
            assert (measured.satisfied, measured.vacuous) == (True, vacuous)
        for ask in (claims.dominated(0.9), claims.ahead(0.9), claims.share(*HALVES[1])):
            assert not ask(Shares(3000, ours=0.99, theirs=above)).vacuous
    for ours, theirs, vacuous in (
        ([1, 1], [0.97, 1], True), ([0, 0], [0, 0], True), ([1, 0], [1, 0.01], True),
        ([1, 1], [0.93, 1], False), ([1, 0.5], [1, 0.5], False),
    ):  # fmt: skip
        measured = claims.similar(0.9, 0.1)(Shares(1000, 2, ours=ours, theirs=theirs))
        assert (measured.satisfied, measured.vacuous) == (True, vacuous)


def test_a_vacuous_reading_rescues_no_claim():
    readings = {"literal": {"above": 0.9}, "vacuous": {"above": 0.0}}

    def ask(experiment):
        return claims.share(*HALVES[0])(Shares(1000, theirs=experiment.changes["above"]))

    judged = claims.judge(claims.Claim("", ask, readings), Experiment((), 0, 1000))
    assert (judged["verdict"], judged["reading"]) == (claims.FAILS, "literal")
    assert judged["readings"]["vacuous"]["satisfied"]
    readings["third"] = {"above": 0.7}
    judged = claims.judge(claims.Claim("", ask, readings), Experiment((), 0, 1000))
    assert (judged["verdict"], judged["reading"]) == (claims.ONLY, "third")


def test_a_race_that_somebody_does_not_finish():
    """No warning; one that they do not finish bounds the quotient, one of ours is lost."""
    done, never = [0.0] * 3 + [1.0] * 7, [0.0] * 10
    for ours, theirs, value in ((done, never, 4 / 11), (never, done, np.inf),
                                (never, never, np.inf), (done, done, 1.0)):  # fmt: skip
        measured = claims.race(0.9, 1 / 2, 10)(Shares(600, ours=ours, theirs=theirs))
        assert (measured.value, measured.satisfied) == (value, value < 1 / 2)
        assert measured.run == float(measured.satisfied)
