"""The mean of K numbers, one per minibatch, and how high Student's interval lets it be."""

from typing import NamedTuple

from unsaddle.core.kernel import Parameters
from unsaddle.core.ops import Ops, Scalar


class SampleTest(NamedTuple):
    """K numbers, one per minibatch, and what else a test remembers."""

    count: Scalar  # k
    mean: Scalar
    spread: Scalar  # sum of squared deviations from the mean
    slope: Scalar  # sum of <e, g(x~)>
    reach: Scalar  # the signed length of the jump
    near: Scalar  # <e, g> at the first node
    turned: Scalar  # whether the other way is tried already


NO_TEST = SampleTest(0, 0.0, 0.0, 0.0, 0.0, 0.0, False)


def tally(test: SampleTest, number: Scalar) -> SampleTest:
    """Take one more number into the mean and the spread."""
    count, off = test.count + 1, number - test.mean
    mean = test.mean + off / count
    return test._replace(count=count, mean=mean, spread=test.spread + off * (number - mean))


def upper(ops: Ops, p: Parameters, test: SampleTest) -> Scalar:
    """Upper end of Student's interval for the mean of K numbers."""
    k = p.escape.checks
    return test.mean + p.escape.quantile * ops.sqrt(test.spread / (k * (k - 1)))
