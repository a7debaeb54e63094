"""A jump that another batch has to confirm, where the loss is another one at every step.

The jump was found on one batch, and lowers the loss of that. Where the descent begins with another
loss than the jump has found there, it is of another batch, and x goes back to x~. With lambda the
curvature found (e'He = -lambda) and s the length of the jump, this batch confirms it where

    f(x~) - (f(x~ + s e) + f(x~ - s e))/2 >= ``TUNING.share`` lambda s^2/2:

it curves down along e too. The slope of a batch, most of which is noise, cancels. If it does not, s
is halved, as the length was the best for the first batch; after a few times x stays at x~. Of both
signs the lower value is kept. What fits the noise of one batch does not pass; a way down that all
batches have does. Where the loss is the same there is but one batch, and nothing is asked.
"""

from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, State, Update, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import START, TRIAL, VALUE, PhaseName
from unsaddle.core.resolution import visible_change
from unsaddle.escapes.backtracking_jump import JUMP_BEGIN, JUMP_FAILED
from unsaddle.escapes.jump import landing

CONFIRM = PhaseName.CONFIRM
CONFIRM_AHEAD, CONFIRM_BEHIND = PhaseName.CONFIRM_AHEAD, PhaseName.CONFIRM_BEHIND


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    share: float = 1 / 16  # of lambda, (0, 1): batches may share few of the variables that e moves
    halvings: int = 3  # 0 to 20: an eighth of the length; below that the slope is all there is


TUNING = Tuning()


def keeping(aim: Update) -> Update:
    """Give the update with which a jump begins; it keeps x~."""

    def update(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        d = s.descent._replace(kept=ops.copy(s.x), jumped=True, confirmed=False)
        return aim(ops, p, s._replace(descent=d), value, gradient)

    return update


def unconfirmed(ops: Ops, s: State, value: Scalar) -> Scalar:
    """Say whether a jump has led to x, and the loss there is of another batch."""
    d, found = s.descent, s.escape.jump.lowest
    other = abs(value - found) > visible_change(ops, s.x, value, found)
    return d.jumped & ops.where(d.confirmed, False, other)


def ask(ops: Ops, s: State, value: Scalar) -> State:
    """Go back to x~, and ask this batch, whose loss at x~ + s e is known."""
    d, j = s.descent, s.escape.jump
    jump = j._replace(lowest=value, reach=j.chosen, tries=0)
    return s._replace(
        x=ops.copy(d.kept),
        descent=d._replace(noisy=True),
        escape=s.escape._replace(jump=jump),
        phase=CONFIRM,
    )


def here(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Take f(x~), and ask for f(x~ - s e)."""
    j = s.escape.jump
    jump = j._replace(value=value, reach=-j.reach)
    return s.searched(CONFIRM_BEHIND, s.escape._replace(jump=jump))


def ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Take f(x~ + s e), and ask for f(x~ - s e)."""
    j = s.escape.jump
    jump = j._replace(lowest=value, reach=-j.reach)
    return s.searched(CONFIRM_BEHIND, s.escape._replace(jump=jump))


def behind(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Land on the lower side, halve s, or stay."""
    e, j = s.escape, s.escape.jump
    fall = j.value - (j.lowest + value) / 2
    promised = -TUNING.share * e.curvature * j.reach * j.reach / 2
    good = fall >= ops.maximum(promised, visible_change(ops, s.x, j.value, j.value))
    lower = value < j.lowest
    side, lowest = ops.where(lower, j.reach, -j.reach), ops.where(lower, value, j.lowest)
    again = ops.where(j.tries < TUNING.halvings, CONFIRM_AHEAD, JUMP_FAILED)
    return s._replace(
        x=ops.axpy(ops.where(good, side, 0.0), e.direction, s.x),
        descent=s.descent._replace(confirmed=good),
        escape=e._replace(jump=j._replace(lowest=lowest, reach=-j.reach / 2, tries=j.tries + 1)),
        phase=ops.where(good, START, again),
    )


def confirmed(search: Part) -> Part:
    """Give a search whose jumps are confirmed; its descent has ``wrapped.Memory``."""
    aim = search.phases[JUMP_BEGIN]
    phases = {
        **search.phases,
        JUMP_BEGIN: aim._replace(update=keeping(aim.update)),
        CONFIRM: Phase(iterate, VALUE, here),
        CONFIRM_AHEAD: Phase(landing, VALUE | TRIAL, ahead),
        CONFIRM_BEHIND: Phase(landing, VALUE | TRIAL, behind),
    }
    return search._replace(phases=phases)
