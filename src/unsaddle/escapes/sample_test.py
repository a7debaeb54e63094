"""A direction and the jump along it, tried on fresh samples before they are believed.

Zhang & Li (2021) jump along whatever Algorithm 3 returns, by the sign of an f'_e that is not known.
Here K fresh minibatches give K numbers, their mean and its Student interval, twice:

1. *Is the curvature negative?* q_k = <e, g(x~ + r e) - g(x~)>/r, same sample at both points. The
   upper end has to be at or below -``enough`` gamma. The same queries give the slope.
2. *Does the jump go down?* d_k = (s/2) <e, g(x~ + c s e) + g(x~ + (1 - c) s e)>, same sample at
   both points, c = 1/2 - 1/(2 sqrt 3): Gauss's rule for f(x~ + s e) - f(x~), off by at most
   ``QUADRATURE`` rho s^3. The mean has to fall by the promise, and the upper end of the interval
   must not rise. If that fails the way the slope says, the other way is tried.

A direction that fails 1 is searched for longer, if the search ended early, or again, as is one that
fails 2. The last to fail ends the run with ``JUMP_FAILED`` if it is bent by gamma/2 or more. Else
the escape goes on to ``PROVE``.
"""

from unsaddle.core.kernel import At, Parameters, Phase, State, iterate, probing, watch
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GRADIENT, NEW, NOTHING, PROVE, SAME, START, PhaseName
from unsaddle.escapes.sample_mean import NO_TEST, SampleTest, tally, upper

SAMPLE_CENTRE, SEARCH_ANEW = PhaseName.SAMPLE_CENTRE, PhaseName.SEARCH_ANEW
TEST_CENTRE, TEST_CURVATURE = PhaseName.TEST_CENTRE, PhaseName.TEST_CURVATURE
TEST_NEAR, TEST_FAR = PhaseName.TEST_NEAR, PhaseName.TEST_FAR
LANDED, JUMP_FAILED = PhaseName.LANDED, PhaseName.JUMP_FAILED
NODE = 0.5 - 0.5 / 3**0.5  # c
QUADRATURE = 0.010142  # integral of the absolute value of Peano's kernel of order 2


def centre(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~) over a fresh minibatch."""
    return s.searched(TEST_CURVATURE, s.escape._replace(gradient=ops.copy(gradient)))


def test_curvature(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """q_k = <e, g(x~ + r e) - g(x~)>/r; after K of them believe e, search again, or end."""
    e, resolution = s.escape, s.escape.resolution
    slope = e.test.slope + ops.dot(e.gradient, e.direction)
    bend = ops.dot(ops.axpy(-1.0, e.gradient, gradient), e.direction)
    test = tally(e.test._replace(slope=slope), bend / resolution.radius)
    over = test.count >= p.escape.checks
    most = upper(ops, p, test) + resolution.error
    known = e._replace(
        test=ops.switch(over, jump(ops, p, most, slope), test),
        curvature=ops.where(over, most - resolution.error, e.curvature),
        quotient=0.0,
    )
    negative = most <= -p.escape.enough * resolution.asked
    onto = ops.where(negative, TEST_NEAR, unbent(ops, p, s))
    return s.searched(ops.where(over, onto, TEST_CENTRE), known)


def unbent(ops: Ops, p: Parameters, s: State) -> Scalar:
    """Search for longer, if the search ended early, or again, or end without a direction."""
    end = ops.where(s.escape.probes < p.escape.probes, SEARCH_ANEW, PROVE)
    return ops.where(s.escape.steps < p.escape.window, SAMPLE_CENTRE, end)


def jump(ops: Ops, p: Parameters, curvature: Scalar, slope: Scalar) -> SampleTest:
    """Aim downhill, at the promised length or |curvature|/rho times ``stretch``."""
    stretched = -p.escape.stretch * curvature / p.escape.hessian_lipschitz
    length = ops.maximum(p.escape.length, stretched)
    return NO_TEST._replace(reach=ops.where(slope >= 0, -length, length))


def node(share: float) -> At:
    """x~ + c s e."""
    return lambda ops, p, s: ops.add(s.x, share * s.escape.test.reach, s.escape.direction)


def remember_near(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep <e, g> at the first node, over a fresh minibatch."""
    test = s.escape.test._replace(near=ops.dot(gradient, s.escape.direction))
    return s.searched(TEST_FAR, s.escape._replace(test=test))


def test_jump(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """d_k = (s/2) <e, g + g>; after K of them x <- x~ + s e if f falls, else turn round or end."""
    e, reach = s.escape, s.escape.test.reach
    test = tally(e.test, (e.test.near + ops.dot(gradient, e.direction)) * reach / 2)
    over = test.count >= p.escape.checks
    most = upper(ops, p, test) + QUADRATURE * p.escape.hessian_lipschitz * abs(reach) ** 3
    pays = over & (most <= 0) & (test.mean <= -p.escape.decrease)
    onto = ops.where(pays, START, ops.where(e.test.turned, failed(ops, p, s), TEST_NEAR))
    back = NO_TEST._replace(reach=-reach, turned=True)
    after = s.searched(
        ops.where(over, onto, TEST_NEAR), e._replace(test=ops.switch(over, back, test))
    )
    x = ops.axpy(ops.where(pays, reach, 0.0), e.direction, s.x)
    return after._replace(x=x, left=1.0, tolerance=-1.0, report=LANDED)


def failed(ops: Ops, p: Parameters, s: State) -> Scalar:
    """Search again; else the jump has failed if e bends by gamma/2 or more, or there is no e."""
    bent = s.escape.resolution.shows(s.escape.curvature)
    end = ops.where(bent, JUMP_FAILED, PROVE)
    return ops.where(s.escape.probes < p.escape.probes, SEARCH_ANEW, end)


def batch(p: Parameters) -> int:
    """Samples in each of the K minibatches."""
    return p.escape.check_batch


PHASES = {
    TEST_CENTRE: Phase(iterate, GRADIENT, centre, NEW, batch),
    TEST_CURVATURE: Phase(probing(1.0), GRADIENT, test_curvature, SAME, batch),
    TEST_NEAR: Phase(node(NODE), GRADIENT, remember_near, NEW, batch),
    TEST_FAR: Phase(node(1 - NODE), GRADIENT, test_jump, SAME, batch),
    LANDED: Phase(iterate, NOTHING, watch),
}
