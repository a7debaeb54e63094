"""The eight figures, declared: landscape, methods, parameters, times, claims and what is scanned.

All share one code path; a ninth is one more entry here. Common readings, where the captions are
silent: perturbations are uniform in the disc. What a search "obtains" is the lowest value along its
direction, either way, found by a global line search on function values, not counted as iterations.
PAGD's NCE is off. "Theory" is sqrt(eta |lambda|)/2 for theta and 1 - sqrt(eta |lambda|) for zeta,
the papers' formulas with l = 1/(4 eta) and the saddle's curvature for gamma. A claim's first
reading is the literal one, by theory where the caption leaves a value open; the others were found
by scanning, as the panels show.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from unsaddle import landscapes
from unsaddle.landscapes import Landscape
from unsaddle.paper.declare import Claim, Figure, Readings, Scan, friction, grid, panel_on
from unsaddle.paper.lockstep import reduced
from unsaddle.paper.measure import Arm, Ask, Panel, both, dominated, race, share, similar

PLAIN: Readings = {"common reading": {}}
FASTER = "{} typically needs less than {} of {}'s iterations"
THETAS = grid(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)


def quartic_descent() -> Figure:
    """Figure 1."""
    given = {"eta": 0.05, "r": 0.1}
    panel = panel_on(
        landscapes.quartic(),
        Arm("NC-finding", "pgd+nc", (15, 30), given),
        Arm("PGD", "pgd", (45, 90), given),
        reach=4.0,
    )
    ours, theirs = share("ours", "<=", 0.9, "<", 0.05), share("theirs", "<=", 0.9, ">", 0.4)
    circle = {"common reading: perturbed in the disc": {}, "perturbed on the circle": {"circle": 1}}
    steps = PLAIN | {"step of length 1/4 instead of a line search": {"extract": 0.25}}
    return Figure(
        "NC-finding and PGD on the quartic landscape",
        (panel,),
        (
            Claim("PGD, t = 90: over 40% of paths decrease f by no more than 0.9", theirs, circle),
            Claim("NC-finding, t = 30: this ratio is less than 5%", ours, steps),
            Claim(FASTER.format("NC-finding", "1/3", "PGD"), race(0.9, 1 / 3, 250), PLAIN),
        ),
        Scan(
            "length s of the step along the direction, without a line search",
            grid(0.25, 0.5, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3),
            lambda s: {"extract": s},
            {"NC-finding": ours},
            {"NC-finding": 0.25},
            (0.05,),
        ),
        "The line search is the one reading under which NC-finding's half holds: a single step "
        "would have to be between about 1.75 and 2.2 long, where the theory takes 1/4 and then "
        "descends. Perturbed on the circle instead of the disc, PGD does twice as well.",
        (-3.2, 3.2, -1.6, 1.6),
    )


def stochastic_cubic_descent() -> Figure:
    """Figure 2."""
    given = {"eta": 0.02, "r": 0.01}
    inside, outside = 0.02 * 0.01 / sqrt(2), 0.01
    panel = panel_on(
        landscapes.cubic(),
        Arm("SNC-finding", "snc", (15, 30), given | {"start": 1}),
        Arm("PSGD", "psgd", (30, 60), given | {"noise": outside}),
        reach=3.0,
    )
    ours, theirs = share("ours", "<=", 0.6, "<", 0.1), share("theirs", "<=", 0.6, ">", 0.5)
    starts = {
        "Algorithm 3 as printed, y_0 = 0": {"start": 0},
        "start on the circle of radius r, as the caption says": {"start": 1},
    }
    noises = {
        "noise N(0, r^2/d) inside the step, as published": {"noise": inside},
        "noise of standard deviation r outside the step": {"noise": outside},
    }
    return Figure(
        "SNC-finding and PSGD on the cubic landscape",
        (panel,),
        (
            Claim(
                "PSGD, t = 60: over 50% of paths decrease f by no more than 0.6",
                theirs,
                noises,
                "Under the published noise the claim is vacuous: PSGD has hardly moved.",
            ),
            Claim("SNC-finding, t = 30: this ratio is less than 10%", ours, starts),
            Claim(
                FASTER.format("SNC-finding", "1/2", "PSGD"),
                race(0.6, 1 / 2, 150),
                {
                    "Algorithm 3 as printed; noise r outside the step": {"start": 0},
                    "start on the circle; noise r outside the step": {},
                },
            ),
        ),
        Scan(
            "standard deviation of the noise that a step of PSGD adds",
            grid(1e-4, 3e-4, 1e-3, 2e-3, 4e-3, 7e-3, 0.01, 0.014, 0.02, 0.03, 0.05, 0.1),
            lambda noise: {"noise": noise},
            {"PSGD": theirs},
            {"PSGD": inside},
            (0.5,),
            logarithmic=True,
        ),
        "The noise model is not given. PSGD is drawn with noise of standard deviation 0.01 per "
        "step. Additive noise of the samples cancels in Algorithm 3, which differences the same "
        "samples at two points, and not in PSGD: such a model favours SNC-finding.",
        (-1.8, 1.8, -1.8, 1.8),
    )


def dimension_dependence() -> Figure:
    """Figure 3; h depends on x2, ..., xn through their length only, so two coordinates do."""

    def panel(p: int, eps: float) -> Panel:
        given = {"eta": 0.05, "r": 0.1}
        return panel_on(
            landscapes.h(2, eps),
            Arm("NC-finding", "pgd+nc", (30 * p,), given),
            Arm("PGD", "pgd", (20 * p * p + 10,), given),
            reach=4.0,
            title=f"n = {10**p}",
            ops=reduced(10**p),
        )

    return Figure(
        "Dimension dependence of NC-finding and PGD on h",
        tuple(panel(p, 1.0) for p in (1, 2, 3)),
        (
            Claim(
                "The statistics of both are similar at 30 p and 20 p^2 + 10 iterations, n = 10^p",
                similar(0.9, 0.1),
                {"eps = 1, eta = 0.05": {}, "eps = 1, eta = 0.3": {"eta": 0.3}},
                "Similar only where both are saturated. With the caption's eps = 0.01 PGD's share "
                "is 0 at every step size; the text says eps = 1.",
            ),
        ),
        Scan(
            "step length eta, n = 10",
            grid(0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
            lambda eta: {"eta": eta},
            {
                "NC-finding": share("ours", ">", 0.9, ">", 0.5),
                "PGD": share("theirs", ">", 0.9, ">", 0.5),
            },
            {},
            (),
        ),
        "The caption says eps = 0.01 and the text eps = 1; the step is not given. We draw eps = 1 "
        "and eta = 0.05, the step of figure 1. How iterations grow with n is measured apart, in "
        "'Growth with the dimension'.",
    )


def _accelerated(
    f: Landscape, eta: float, r: float, curvature: float, times: int, reach: float,
    window: Any, claims: Callable[..., tuple[Claim, ...]], note: str, **more: Any,
) -> Figure:  # fmt: skip
    """Declare a figure of ANCGD against PAGD."""
    given = {"eta": eta, "r": r}
    panel = panel_on(
        f,
        Arm("ANCGD", "ancgd", (10, 20), given | {"theta": 0.2}),
        Arm("PAGD", "pagd", (times // 2, times), given | {"theta": 0.3}),
        reach,
        **more,
    )
    ours, theirs = share("ours", "<=", 0.9, "<", 0.05), share("theirs", "<=", 0.9, ">", 0.2)
    theory = friction(eta, curvature)
    reading = f"theta = {theory:.3f}, by theory"
    race_claim = Claim(
        FASTER.format("ANCGD", "1/3", "PAGD"),
        race(0.9, 1 / 3, 160),
        {
            reading: {"theta": theory},
            "theta = 0.2 (ANCGD), 0.3 (PAGD)": {},
            "theta = 0.3 for both": {"theta": 0.3},
        },
    )
    return Figure(
        f"ANCGD and PAGD on the {f.name} landscape",
        (panel,),
        (*claims(reading, theory, ours, theirs), race_claim),
        Scan(
            "theta",
            THETAS,
            lambda theta: {"theta": theta},
            {"ANCGD": ours, "PAGD": theirs},
            {"ANCGD": theory, "PAGD": theory},
            (0.05, 0.2),
        ),
        note + " Theta is not given. Drawn: 0.2 for ANCGD and 0.3 for PAGD, the one pair that "
        "meets every half-claim of figures 4 to 8; it gives the two methods different momentum.",
        window,
    )


STUCK = (
    "With NCE, which belongs to PAGD as published, and the theory's theta, the test for NCE holds "
    "at the saddle: each time the momentum is thrown away for a step of s = gamma/(4 rho), and no "
    "path gets far. The halves are then true, but of a method that hardly moves."
)


def _halves(times: int) -> Callable[..., tuple[Claim, ...]]:
    def claims(reading: str, theory: float, ours: Ask, theirs: Ask) -> tuple[Claim, ...]:
        thetas = {f"theta = {theta:g} for both": {"theta": theta} for theta in THETAS}
        return (
            Claim(
                f"PAGD, t = {times}: over 20% of paths decrease f by no more than 0.9",
                theirs,
                {
                    reading: {"theta": theory},
                    "theta = 0.3": {"theta": 0.3},
                    f"{reading}, with NCE": {"theta": theory, "nce": 1},
                    "theta = 0.3, with NCE": {"theta": 0.3, "nce": 1},
                },
                STUCK,
            ),
            Claim(
                "ANCGD, t = 20: this ratio is less than 5%",
                ours,
                {reading: {"theta": theory}, "theta = 0.2": {"theta": 0.2}},
            ),
            Claim(
                "Both halves at once, with one theta",
                both(theirs, ours),
                {
                    f"{reading}, for both": {"theta": theory},
                    **thetas,
                    f"{reading}, for both, with NCE": {"theta": theory, "nce": 1},
                },
                STUCK,
            ),
        )

    return claims


def quartic_accelerated() -> Figure:
    """Figure 4."""
    return _accelerated(
        landscapes.quartic(), 0.05, 0.08, 1.0, 40, 4.0, (-3.2, 3.2, -1.6, 1.6), _halves(40),
        "At the theory's theta PAGD does not fail as the caption says.",
    )  # fmt: skip


def triangle_accelerated() -> Figure:
    """Figure 5."""
    return _accelerated(
        landscapes.triangle(), 0.01, 0.1, np.pi**2 / 2, 80, 1.6, (-1.6, 1.6, -0.8, 1.6),
        _halves(80), "Without NCE no single theta makes both halves of the caption true.",
    )  # fmt: skip


def exponential_accelerated() -> Figure:
    """Figure 6."""

    def claims(reading: str, theory: float, ours: Ask, theirs: Ask) -> tuple[Claim, ...]:
        return (
            Claim(
                "PAGD, t = 60, is dominated by ANCGD, t = 20",
                dominated(0.9),
                {
                    f"{reading}, for both": {"theta": theory},
                    "theta = 0.2 for both": {"theta": 0.2},
                    "theta = 0.3 for both": {"theta": 0.3},
                },
                "Share of samples with -f <= 0.9: f is -1/2 at the saddle and its infimum is -1, "
                "so that no decrease of 0.9 exists.",
            ),
        )

    return _accelerated(
        landscapes.exponential(), 0.03, 0.1, 0.5, 60, 4.0, (-4, 4, -1.2, 1.6), claims,
        "A descent value is -f here: the largest decrease that there is, is 1/2. At the theory's "
        "theta the order of the two methods is reversed.", reference=0.0,
    )  # fmt: skip


def _neon(
    f: Landscape, eta: float, curvature: float, times: int, extract: str, reach: float,
    window: Any, claims: tuple[Claim, ...], threshold: float, bounds: tuple[float, ...],
    note: str, **more: Any,
) -> Figure:  # fmt: skip
    """Declare a figure of ANCGD against NEON+."""
    given = {"eta": eta, "r": 0.1}
    zeta, below = 1 - sqrt(eta * curvature), lambda arm: share(arm, "<=", threshold, ">", 0)
    panel = panel_on(
        f,
        Arm("ANCGD", "ancgd", (times // 2,), given | {"theta": 0.2}),
        Arm("NEON+", "neon+", (times,), given | {"zeta": zeta, "extract": extract}),
        reach,
        **more,
    )
    theory = {"theta": friction(eta, curvature), "zeta": zeta}
    fast = Claim(
        FASTER.format("ANCGD", "1/2", "NEON+"),
        race(threshold, 1 / 2, 80),
        {
            "both by theory, the line search for both": theory | {"extract": "search"},
            "theta = 0.2, zeta by theory, as drawn": {},
        },
    )
    return Figure(
        f"ANCGD and NEON+ on the {f.name} landscape",
        (panel,),
        (*claims, fast),
        Scan(
            "theta, and 1 - zeta",
            grid(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6),
            lambda theta: {"theta": theta, "zeta": 1 - theta, "extract": "search"},
            {"ANCGD": below("ours"), "NEON+": below("theirs")},
            {"ANCGD": theory["theta"], "NEON+": 1 - zeta},
            bounds,
        ),
        note,
        window,
    )


def triangle_neon() -> Figure:
    """Figure 7."""
    theory = friction(0.04, np.pi**2 / 2)
    claims = (
        Claim(
            "NEON+, t = 20: none of the paths decreases f by more than 0.95",
            share("theirs", ">", 0.95, "=", 0.0),
            {
                "with the line search that ANCGD has": {"extract": "search"},
                "without: its own iterate": {"extract": "point"},
            },
        ),
        Claim(
            "ANCGD, t = 10: this ratio is larger than 90%",
            share("ours", ">", 0.95, ">", 0.9),
            {f"theta = {theory:.3f}, by theory": {"theta": theory}, "theta = 0.2": {"theta": 0.2}},
        ),
    )
    return _neon(
        landscapes.triangle(), 0.04, np.pi**2 / 2, 20, "point", 1.6, (-1.6, 1.6, -0.8, 1.6),
        claims, 0.95, (0.1,),
        "Zeta and theta are not given. Drawn: NEON+'s own iterate, zeta by theory, and theta = 0.2."
        " The scan gives the line search to both.",
    )  # fmt: skip


def exponential_neon() -> Figure:
    """Figure 8."""
    theory, zeta = friction(0.03, 0.5), 1 - sqrt(0.015)
    saddle = {"reference": -0.5}
    claims = (
        Claim(
            "NEON+, t = 40: over 20% of the paths decrease f by no more than 0.9",
            share("theirs", "<=", 0.9, ">", 0.2),
            {
                f"-f; zeta = {zeta:.3f}, by theory": {"zeta": zeta},
                "-f; zeta = 0.85": {"zeta": 0.85},
                "-f; zeta = 0.7": {"zeta": 0.7},
                "literally a decrease": {"zeta": zeta} | saddle,
            },
            "Read literally it is vacuous: no decrease beyond 0.5 exists.",
        ),
        Claim(
            "ANCGD, t = 20: this ratio is less than 10%",
            share("ours", "<=", 0.9, "<", 0.1),
            {
                f"-f; theta = {theory:.3f}, by theory": {"theta": theory},
                "-f; theta = 0.2": {"theta": 0.2},
                "-f; theta = 0.3": {"theta": 0.3},
                "literally a decrease": {"theta": 0.2} | saddle,
            },
        ),
    )
    return _neon(
        landscapes.exponential(), 0.03, 0.5, 40, "search", 4.0, (-4, 4, -1.2, 1.6), claims,
        0.9, (0.1, 0.2),
        "Zeta and theta are not given. Drawn: zeta by theory, theta = 0.2, the line search for "
        "both, and -f for a descent value.", reference=0.0,
    )  # fmt: skip


FIGURES: dict[str, Callable[[], Figure]] = {
    "fig1": quartic_descent,
    "fig2": stochastic_cubic_descent,
    "fig3": dimension_dependence,
    "fig4": quartic_accelerated,
    "fig5": triangle_accelerated,
    "fig6": exponential_accelerated,
    "fig7": triangle_neon,
    "fig8": exponential_neon,
}
