"""The certificate: what a run claims of the curvature at x, in words."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

from unsaddle.core.evidence import Claim, is_weak
from unsaddle.core.phases import BEGIN, PhaseName


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    flat: float = 0.1  # of curvature_tol, (0, 1): what is less may as well be zero, or below it


TUNING = Tuning()
RIGOROUS = "rigorous: it holds for any errors of the {{}} up to the size of {}"
PRACTICAL = "practical: it assumes that errors of the {{}} are random, as {}"
KINDS = {  # by whether it is rigorous, and what errs
    (True, "rounding"): RIGOROUS.format("rounding"),
    (True, "noise"): RIGOROUS.format("noise"),
    (False, "rounding"): PRACTICAL.format("rounding errors are"),
    (False, "noise"): PRACTICAL.format("noise is"),
}
LOWEST = "The lowest curvature met"
FLAT = "is zero within curvature_tol: natural along a symmetry, but x may also be a flat saddle"
ENDED = {
    PhaseName.UNRESOLVED: "Differences of gradients show no curvature above their own error.",
    PhaseName.UNCERTIFIED: "The search ended undecided.",
}
NONE_ASKED = (
    "The Hessian may be zero here: pass curvature_tol=<what is small for you>. Or the gradient is "
    "coarser than it seems, as one made of differences: pass gradient_noise=<its error>."
)


@dataclass(frozen=True)
class Certificate:
    """The claim "lambda_min of the Hessian at x is above -curvature_tol", and what backs it."""

    holds: bool | None
    """True: certified. False: negative curvature was found along ``direction``. None: undecided."""
    curvature_tol: float
    """The gamma of the claim; larger than asked for where errors of the gradient hide less."""
    failure_probability: float
    """Chance that the claim is made although it is false, over the whole run."""
    curvature: float
    """The lowest curvature that was measured, as a Rayleigh quotient."""
    direction: Any
    """The unit vector along which the curvature is below -curvature_tol/2, if one was found."""
    gradients: int
    """Gradients that this search took, including those that chose the probe radius."""
    note: str
    """How the claim was reached, and every caveat."""
    share: float = 1.0
    """These as a share of all gradients of the run; 1 where there was nothing but the search."""
    probe_radius: float = math.nan
    """Distance over which gradients were differenced."""
    central: bool = False
    """Whether these differences were central, with a gradient on both sides of x."""
    gradient_noise: float = 0.0
    """Length of a gradient's error, as declared or measured; zero where it is rounding alone."""
    gradient_norm: float = math.nan
    """The gradient's norm at x, of which the claim says nothing; NaN where it was not kept. Within
    bounds it is the projected gradient's."""
    free: int | None = None
    """How many variables are free, to which the claim is restricted; None without bounds."""
    unclear: tuple[int, ...] = ()
    """The variables at a bound, or next to it, that no multiplier clearly holds there."""
    exact: bool = False
    """Whether it rests on exact products with the Hessian, and not on differences of gradients."""
    products: int = 0
    """Products that this search took."""
    coarser: bool = False
    """Whether it holds for less than was asked for: a larger curvature_tol than the one given, or,
    where none was, one above a tenth of the largest curvature. That is no success."""

    def __bool__(self) -> bool:
        """Say whether it holds for what was asked, as ``if certificate:`` seems to ask."""
        return self.holds is True and not self.coarser

    def __str__(self) -> str:
        """Say it in one sentence."""
        cost = f"{self.gradients} gradient{'s' * (self.gradients != 1)}"
        if self.exact:
            cost += f" and {self.products} product{'s' * (self.products != 1)}"
        if math.isnan(self.curvature_tol):
            taken = f" ({cost})" if self.gradients else ""
            return f"undecided: nothing is known of the curvature{taken}. {self.note}".strip()
        gamma, risk = rounded_up(self.curvature_tol), rounded_up(100 * self.failure_probability)
        sentence = {
            True: f"certified: no curvature below -{gamma} here (chance of error at most {risk} %; "
            f"{cost}).",
            False: f"negative curvature found: {self.curvature:.3g} along certificate.direction "
            f"({cost}).",
            None: f"undecided: curvature below -{gamma} was neither found nor ruled out ({cost}).",
        }[self.holds]
        if self.holds and self.free == 0:
            sentence = "certified: no variable is free."
        return f"{sentence} {self.note}".strip()

    def _repr_html_(self) -> str:
        """Give a notebook a small table."""
        words, known = str(self), {True: "holds", False: "negative curvature", None: "undecided"}
        rows = {"certificate": known[self.holds], "": words}
        rows |= {"curvature_tol": f"{self.curvature_tol:.4g}"}
        rows |= {"lowest curvature": f"{self.curvature:.4g}", "gradients": str(self.gradients)}
        return table(rows)


def table(rows: Mapping[str, Any]) -> str:
    """Write a small table of HTML."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table>{cells}</table>"


def certificate(
    claim: Claim, noise: float = 0.0, share: float = 1.0, settled: bool = False
) -> Certificate:
    """Put a claim into words.

    Args:
        claim: The claim.
        noise: Relative error of a gradient, if above the roundoff.
        share: The search's, of all gradients of the run.
        settled: Whether gamma is what the search could show within its budget.

    Returns:
        The certificate.
    """
    holds = {1: True, 0: False, -1: None}[int(claim.holds)]
    unresolved = holds is None and claim.phase == PhaseName.UNRESOLVED
    return Certificate(
        holds=holds,
        curvature_tol=float(claim.asked if unresolved else claim.curvature_tol) or math.nan,
        failure_probability=float(str(claim.failure_probability)),  # 1e-3 in any precision
        curvature=float(claim.curvature),
        direction=claim.direction if holds is False else None,
        gradients=int(claim.gradients),
        note=" ".join(_notes(claim, holds, noise, settled)),
        share=share,
        probe_radius=float(claim.radius),
        central=bool(claim.sides > 1),
        gradient_noise=float(claim.noise),
        gradient_norm=float(claim.gradient_norm),
        exact=bool(claim.exact),
        products=int(claim.products),
        coarser=bool(claim.coarser),
    )


def _notes(claim: Claim, holds: bool | None, noise: float, settled: bool) -> list[str]:
    """Say how the claim was reached, and every caveat."""
    notes, largest, measured = [], float(claim.largest), float(claim.noise)
    errors = "noise" if (noise or measured) and not claim.exact else "rounding"
    if holds:
        whose = "Lanczos" if claim.krylov else "Growth"
        what, source = ("products", " from exact products") if claim.exact else ("gradient", "")
        kind = KINDS[bool(claim.rigorous), errors].format(what)
        notes += [f"{whose} certificate{source}, {kind}."]
    elif holds is None and claim.phase != PhaseName.START:
        cut_short = (
            "The budget was spent before the search could decide." if claim.phase >= BEGIN else ""
        )
        notes += [ENDED.get(PhaseName(min(int(claim.phase), 0)), cut_short)]
    unresolved = holds is None and claim.phase == PhaseName.UNRESOLVED
    if unresolved and not claim.asked:
        notes += [NONE_ASKED]
    elif claim.raised and holds is not False:
        bound = rounded_up(float(claim.curvature_tol))
        change = f"from {float(claim.asked):.3g} to {bound}"
        noisy = f"the gradient's noise, {measured or noise:.1g}"
        hidden = noisy if errors == "noise" else "rounding"
        spent = "certificate_budget was spent before less was shown"
        why = spent if settled else f"less cannot be told from {hidden}"
        least = f"Curvature of less than {bound} cannot be told from {hidden}."
        notes += [least if unresolved else f"curvature_tol was raised {change}: {why}."]
    if measured and claim.radius > 0 and not claim.exact:
        order = "central" if claim.sides > 1 else "forward"
        over = f"{order} differences over {claim.radius:.2g} were used"
        notes += [f"The gradient's noise is {measured:.1g}, and {over}."]
    if holds and claim.flat:
        notes += ["The gradient was the same at every query: f is flat here, or it is too coarse."]
    elif holds and is_weak(claim.curvature_tol, largest):
        notes += [f"It is weak: the largest curvature is only {largest:.3g}."]
    elif holds and claim.curvature <= TUNING.flat * claim.curvature_tol:
        finer = "" if claim.raised else ", which a smaller curvature_tol may show"
        notes += [f"{LOWEST} {FLAT}{finer}."]
    if claim.steep:
        slope = f"The gradient's norm is {float(claim.gradient_norm):.3g}: x is not stationary"
        notes += [f"{slope}, and the certificate is about curvature only."]
    return notes


def of_minibatches(shown: Certificate, settings: Any) -> Certificate:
    """Say how sure a direction is that an escape with these settings has tested on minibatches."""
    note = f"{shown.note} The curvature is the upper end of Student's interval over "
    note += f"{settings.checks} minibatches."
    return replace(shown, failure_probability=settings.failure_probability, note=note.strip())


def ending(word: str, shown: Certificate, more: str = "") -> str:
    """Give the line that logs an end: its word, and a claim, which may begin with the same word."""
    return f"{word}{more}: {str(shown).removeprefix(f'{word}: ')}"


def rounded_up(number: float) -> str:
    """Write a bound with three digits, never smaller than it is."""
    shown = f"{number:.3g}"
    return (
        shown
        if not float(shown) < number
        else f"{number + 10 ** (math.floor(math.log10(number)) - 2):.3g}"
    )
