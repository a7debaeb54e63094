"""What a search has shown on JAX, in the form of arrays and in words."""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp

from unsaddle.certificate import Certificate
from unsaddle.escapes.jump import MEASURE
from unsaddle.kernel import BEGIN, BLIND, CERTIFIED, JUMP_FAILED, START, TESTED, State
from unsaddle.ops import jax as ops
from unsaddle.search import KINDS, SHORT, SLOPE, WHY, raised, weak
from unsaddle.trees import Tree

SEARCHED = (CERTIFIED, TESTED, BLIND)  # in which a search ends, beside those of a jump


class Verdict(NamedTuple):
    """What a search has shown: ``unsaddle.Certificate`` in the form of arrays."""

    holds: Any  # 1 certified, 0 refuted, -1 undecided
    curvature_tol: Any
    asked: Any  # the curvature_tol before floating point had its say
    failure_probability: Any
    curvature: Any
    direction: Tree  # zero unless refuted
    gradients: Any
    rigorous: Any  # whether the certificate holds against any gradient error up to the floor
    phase: Any  # in which the search ended
    largest: Any  # curvature that it met
    gradient_norm: Any  # at x; NaN if there was no search
    steep: Any  # whether that is too long for a stationary point

    def certificate(self) -> Certificate:
        """Give the certificate that this is, once it has been computed."""
        holds = {1: True, 0: False, -1: None}[int(self.holds)]
        asked, gamma, tiny = float(self.asked), float(self.curvature_tol), ops.tiny(self.asked)
        ended = WHY.get(int(self.phase), SHORT if self.phase >= BEGIN else "")
        kind = KINDS[bool(self.rigorous)].capitalize()
        notes = {True: [kind], False: [], None: [ended]}[holds]
        notes += raised(asked, gamma, tiny)
        notes += weak(gamma, float(self.largest), tiny) if holds else []
        slope = float(self.gradient_norm)
        notes += [SLOPE.format(slope)] * bool(self.steep)
        return Certificate(
            holds=holds,
            curvature_tol=gamma or math.nan,
            failure_probability=float(str(self.failure_probability)),  # 1e-3 in any precision
            curvature=float(self.curvature),
            direction=self.direction if holds is False else None,
            gradients=int(self.gradients),
            note=" ".join(notes).strip(),
            gradient_norm=slope,
        )


def read(state: State, curvature_tol: Any, failure_probability: float, gradients: Any) -> Verdict:
    """Say what a search has shown.

    Args:
        state: In which it ended.
        curvature_tol: What was asked for.
        failure_probability: Over the whole run.
        gradients: That it took.

    Returns:
        The verdict.
    """
    e, seen = state.escape, state.escape.sight
    over = (state.phase == JUMP_FAILED) | (state.phase == MEASURE)
    refuted = over & seen.shows(e.curvature)
    holds = jnp.where(state.phase == CERTIFIED, 1, jnp.where(refuted, 0, -1))
    searched = (state.phase > BEGIN) | over | jnp.isin(state.phase, jnp.array(SEARCHED))
    searched &= seen.needed > 0
    slope = ops.norm(e.gradient) if hasattr(e, "gradient") else jnp.nan
    delta, asked = (
        jnp.asarray(given, seen.error.dtype) for given in (failure_probability, curvature_tol)
    )
    asked = jnp.where(searched, seen.asked, asked)
    lowest = e.curvature
    if hasattr(e, "basis"):
        shown = (lowest == jnp.inf) & (e.steps > 0)
        lowest = jnp.where(shown, ops.ritz(e.diagonal, e.beside, e.steps)[0], lowest)
    return Verdict(
        holds=holds,
        curvature_tol=jnp.where(searched & ~refuted, seen.curvature_tol, asked),
        asked=asked,
        failure_probability=jnp.where(holds > 0, delta, jnp.where(refuted, 0.0, 1.0)),
        curvature=jnp.where(searched, lowest, jnp.nan),
        direction=ops.scale(
            jnp.where(refuted, 1 / ops.maximum(ops.norm(e.direction), ops.tiny(state.x)), 0.0),
            e.direction,
        ),
        gradients=gradients,
        rigorous=seen.error * seen.needed <= seen.curvature_tol / 4,
        phase=jnp.where(searched, state.phase, START),
        largest=largest(e),
        gradient_norm=jnp.where(searched, slope, jnp.nan),
        steep=jnp.array(False),
    )


def largest(e: Any) -> Any:
    """Bound the largest curvature that Lanczos has met by the rows of its matrix; else give l."""
    if not hasattr(e, "basis"):
        return e.sight.smoothness
    known = jnp.arange(len(e.diagonal)) < e.steps
    diagonal, beside = (jnp.where(known, jnp.abs(row), 0) for row in (e.diagonal, e.beside))
    return jnp.max(diagonal + beside + jnp.roll(beside, 1))
