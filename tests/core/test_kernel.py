"""The contract of the kernel: one number a phase, and a proof that keeps to itself."""

from typing import Any

import numpy as np
import pytest

from tests.drive import queries
from unsaddle import landscapes
from unsaddle.core.kernel import Parameters, State, compose, then
from unsaddle.core.phases import (
    BEGIN,
    CERTIFIED,
    PROOF,
    PROVE,
    START,
    UNCERTIFIED,
    PhaseName,
    name_of,
)
from unsaddle.core.records import fill, leaves
from unsaddle.core.session import Session
from unsaddle.descents.gd import gd
from unsaddle.escapes.adaptive_anc import adaptive_anc
from unsaddle.escapes.nc import nc
from unsaddle.escapes.perturbation import perturbation
from unsaddle.escapes.proof import SEARCHES, proof
from unsaddle.methods.table import METHODS, STOCHASTIC
from unsaddle.numpy.ops import ops

TABLE = METHODS | STOCHASTIC
PROVED = [name for name, line in METHODS.items() if line.proof is not None]
each_method = pytest.mark.parametrize("method", TABLE)


# Numbers and names


def test_no_number_has_two_names() -> None:
    assert len(PhaseName) == len(PhaseName.__members__)


def test_no_two_phases_have_one_name() -> None:
    """Also those of a proof, which are lifted above all others."""
    own = [code for code in PhaseName if code >= 0]
    lifted = [code + PROOF for code in own if code >= BEGIN]
    assert not {*own} & {*lifted}
    assert max(own) < BEGIN + PROOF  # 95 at most, as docs/add-a-method.md says
    assert len({name_of(code) for code in (*own, *lifted)}) == len(own) + len(lifted)
    assert name_of(PhaseName.SEARCH) == "search"
    assert name_of(PhaseName.SEARCH + PROOF) == "proof search"


@each_method
def test_every_phase_is_where_its_number_says(method: str) -> None:
    descent, escape = TABLE[method].descent, TABLE[method].escape
    assert {START, PhaseName.GO} <= {*descent.phases}
    assert all(0 <= code < BEGIN for code in descent.phases)
    assert all(code >= BEGIN for code in escape.phases)
    assert all(name_of(code) for code in TABLE[method].solver.phases)
    assert not escape.phases or BEGIN in escape.phases


# compose


def parameters(n: int) -> Parameters:
    known = {"smoothness": 1.0, "hessian_lipschitz": 1.0, "decrease_available": 1.0}
    return METHODS["pgd"].from_theory(n=n, tol=1e-2, **known)


def test_a_solver_has_the_phases_of_both_parts_and_two_of_its_own() -> None:
    solver = compose(gd, nc)
    assert {*solver.phases} == {*gd.phases, *nc.phases, PhaseName.GIVE_UP, PROVE}
    assert all(
        solver.phases[code] is phase for code, phase in (*gd.phases.items(), *nc.phases.items())
    )


def test_a_part_s_own_phase_goes_before_the_shared_one() -> None:
    assert (
        compose(gd, then(nc, proof)).phases[PROVE].update
        is not compose(gd, nc).phases[PROVE].update
    )


def test_the_first_state_descends_from_rest() -> None:
    p, x = parameters(2), np.ones(2)
    state = compose(gd, then(perturbation, proof)).start(ops, p, x, 7)
    assert (state.phase, state.report, state.episode, state.seed, state.drawn) == (0, 32, 0, 7, 0)
    assert state.x is x
    assert state.tolerance == p.tolerance
    assert not (state.stalled)
    assert not (state.proving)
    assert state.proof is not None
    assert compose(gd, perturbation).start(ops, p, x, 7).proof is None


def test_what_is_not_proved_ends_uncertified() -> None:
    """At a saddle that a window of one step does not show, and at a minimum."""
    f, proved, p, saddle = wrong_test("pgd")
    for solver, ends in (
        (compose(gd, perturbation), (UNCERTIFIED, UNCERTIFIED)),
        (proved, (PhaseName.NEGATIVE_CURVATURE, CERTIFIED)),
    ):
        for point, end in zip((saddle.x, f.minima[0]), ends, strict=True):
            session = Session(ops, solver, p, solver.start(ops, p, np.array(point, float), 0))
            steps(session, f)
            assert session.state.phase == end


def test_a_stall_is_over_where_a_perturbation_leads_down() -> None:
    p, solver = parameters(2), compose(gd, perturbation)
    begun = solver.start(ops, p, np.ones(2), 0)._replace(stalled=True)
    test = perturbation.phases[PhaseName.ENERGY_TEST].update
    for value, stalled in ((-p.escape.decrease, False), (0.0, True)):
        after = test(ops, p, begun, value, np.ones(2))
        assert (after.stalled, after.phase == PROVE) == (stalled, stalled)


def test_who_gives_up_reports_all_the_same() -> None:
    solver, p = compose(gd, nc), parameters(2)
    state = solver.start(ops, p, np.ones(2), 0)._replace(phase=PhaseName.GIVE_UP)
    session = Session(ops, solver, p, state)
    assert session.ask().at_iterate  # type: ignore[union-attr]
    session.tell(gradient=np.ones(2))
    assert session.state.phase == BEGIN
    assert session.state.stalled


# then


@pytest.mark.parametrize("search", [*SEARCHES.values(), adaptive_anc])
@pytest.mark.parametrize("escape", [nc, perturbation])
def test_the_phases_of_a_proof_do_not_collide_with_the_escape_s(escape: Any, search: Any) -> None:
    both = then(escape, search)
    assert len(both.phases) == len({*escape.phases} | {PROVE}) + len(search.phases)
    for code, phase in escape.phases.items():
        assert both.phases[code] is phase
    for code, phase in search.phases.items():
        assert both.phases[code + PROOF].needs == phase.needs


def copied(state: State) -> State:
    return fill(state, lambda _, leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf)


def same(one: Any, other: Any) -> bool:
    pairs = zip(leaves(one), leaves(other), strict=True)
    return all(a == b and (u is v or np.array_equal(u, v)) for (a, u), (b, v) in pairs)


def numbers(memory: Any) -> Any:
    """Leave the vectors out: before they are first written they may be the iterate itself."""
    return fill(memory, lambda _, leaf: None if isinstance(leaf, np.ndarray) else leaf)


def steps(session: Session, f: Any) -> list[tuple[np.ndarray, State, Any, Any]]:
    """Answer every query; list its point, and the state, value and gradient before it."""
    seen = []
    for query in queries(session, f.value, f.gradient):
        gradient = None if session.gradient is None else session.gradient.copy()
        seen.append((query.point.copy(), copied(session.state), session.value, gradient))
    return seen


def wrong_test(method: str) -> tuple[Any, Any, Parameters, State]:
    """Begin at a saddle that the method's own test does not see, as its window is too short."""
    f, line = landscapes.quartic(), METHODS[method]
    known = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz}
    p = line.from_theory(n=f.n, tol=1e-2, decrease_available=1.0, **known)
    late = {"enough": 1e9} if "enough" in p.escape._fields else {}
    p = p._replace(escape=p.escape._replace(window=1, **late))
    return f, line.solver, p, line.solver.start(ops, p, np.array(f.saddles[0], float), 0)


TOLD = [name for name in PROVED if "window" in METHODS[name].escape.settings._fields]
assert TOLD


@pytest.mark.parametrize("method", TOLD)
def test_a_proof_s_memory_does_not_touch_the_escape_s(method: str) -> None:
    f, solver, p, state = wrong_test(method)
    session = Session(ops, solver, p, state)
    passed = [state for _, state, *_ in steps(session, f)]
    proving = [state for state in passed if state.phase >= BEGIN + PROOF]
    before = [state for state in passed if state.phase < BEGIN + PROOF]
    assert proving
    assert all(same(state.escape, proving[0].escape) for state in (*proving, session.state))
    assert all(same(numbers(state.proof), numbers(before[0].proof)) for state in before)
    assert all(state.proving for state in proving[1:])
    assert not any(state.proving for state in before)


@pytest.mark.parametrize("method", TOLD)
def test_a_run_can_be_taken_up_inside_its_proof(method: str) -> None:
    """From every query of the proof: the same points, bit for bit, and the same end."""
    f, solver, p, state = wrong_test(method)
    session = Session(ops, solver, p, state)
    seen = steps(session, f)
    inside = [i for i, (_, s, *_) in enumerate(seen) if s.phase >= BEGIN + PROOF]
    assert len(inside) > 3
    for i in inside[:: max(1, len(inside) // 5)]:
        _, then_, value, gradient = seen[i]
        again = Session(ops, solver, p, copied(then_), value, gradient)
        rest = steps(again, f)
        assert all(np.array_equal(a, b) for (a, *_), (b, *_) in zip(rest, seen[i:], strict=True))
        assert same(again.state, session.state)
