"""Figures 4 to 8, of the accelerated methods: declarations, as in ``figures.py``."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from unsaddle import landscapes
from unsaddle.landscapes import Landscape
from unsaddle.paper.claims import Ask, Claim, both, dominated, share
from unsaddle.paper.declare import Figure, Scan, converges, friction, gathers, grid, panel_on, wins
from unsaddle.paper.experiment import Arm

OURS, THEIRS = ("ours", "<=", 0.9, "<", 0.05), ("theirs", "<=", 0.9, ">", 0.2)  # the halves
THETAS = grid(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)


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
    ours, theirs = share(*OURS), share(*THEIRS)
    theory = friction(eta, curvature)
    reading = f"theta = {theory:.3f}, by theory"
    thetas = {
        reading: {"theta": theory},
        "theta = 0.2 (ANCGD), 0.3 (PAGD)": {},
        "theta = 0.3 for both": {"theta": 0.3},
        f"{reading}, with NCE": {"theta": theory, "nce": 1},
    }
    return Figure(
        f"ANCGD and PAGD on the {f.name} landscape",
        (panel,),
        (
            *claims(reading, theory, ours, theirs),
            wins(panel, 0.9, "1/3", 160, thetas),
            converges(panel, 0.9, thetas),
        ),
        Scan(
            "theta",
            THETAS,
            lambda theta: {"theta": theta},
            {"ANCGD": ours, "PAGD": theirs},
            {"ANCGD": theory, "PAGD": theory},
            () if more else (0.05, 0.2),
            f"{'-f' if more else 'decrease'} <= 0.9",
        ),
        note + " Theta is not given. Drawn: 0.2 for ANCGD and 0.3 for PAGD, the one pair that "
        "meets every half-claim of figures 4 to 8; it gives the two methods different momentum.",
        window,
    )


SLOWER = (
    "NCE belongs to PAGD as published; Algorithm 2 has it too, but not in the window that is shown "
    "here. With the theory's theta the test for it holds at the saddle: the momentum is thrown "
    "away again and again, and PAGD is several times slower."
)
VACUOUS = f"{SLOWER} No path is through at its time, and the halves are true but vacuous."


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
                VACUOUS,
            ),
            Claim(
                "ANCGD, t = 20: this ratio is less than 5%",
                ours,
                {reading: {"theta": theory}, "theta = 0.2": {"theta": 0.2}},
            ),
            Claim(
                "Both halves at once, with one theta",
                both(THEIRS, OURS),
                {
                    f"{reading}, for both": {"theta": theory},
                    **thetas,
                    f"{reading}, for both, with NCE": {"theta": theory, "nce": 1},
                },
                VACUOUS,
            ),
        )

    return claims


def quartic_accelerated() -> Figure:
    """Figure 4."""
    theory = friction(0.05, 1.0)
    figure = _accelerated(
        landscapes.quartic(), 0.05, 0.08, 1.0, 40, 4.0, (-3.2, 3.2, -1.6, 1.6), _halves(40),
        "At the theory's theta PAGD does not fail as the caption says.",
    )  # fmt: skip
    thetas = {f"theta = {theory:.3f}, by theory": {"theta": theory}, "theta = 0.2": {"theta": 0.2}}
    return figure._replace(claims=(*figure.claims, gathers(figure.panels[0], "ours", thetas)))


def triangle_accelerated() -> Figure:
    """Figure 5."""
    return _accelerated(
        landscapes.triangle(), 0.01, 0.1, np.pi**2 / 2, 80, 1.6, (-1.6, 1.6, -0.8, 1.6),
        _halves(80), "No single theta makes both halves of the caption true.",
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
                    f"{reading}, for both, with NCE": {"theta": theory, "nce": 1},
                },
                "Share of samples with -f <= 0.9: f is -1/2 at the saddle and its infimum is -1, "
                "so that no decrease of 0.9 exists. " + SLOWER,
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
    readings = {
        "both by theory, the line search for both": theory | {"extract": "search"},
        "theta = 0.2, zeta by theory, as drawn": {},
    }
    fast = wins(panel, threshold, "1/2", 80, readings)
    return Figure(
        f"ANCGD and NEON+ on the {f.name} landscape",
        (panel,),
        (*claims, fast, converges(panel, threshold, readings)),
        Scan(
            "theta, and 1 - zeta",
            grid(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6),
            lambda theta: {"theta": theta, "zeta": 1 - theta, "extract": "search"},
            {"ANCGD": below("ours"), "NEON+": below("theirs")},
            {"ANCGD": theory["theta"], "NEON+": 1 - zeta},
            bounds,
            f"{'-f' if more else 'decrease'} <= {threshold:g}",
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
    figure = _neon(
        landscapes.triangle(), 0.04, np.pi**2 / 2, 20, "point", 1.6, (-1.6, 1.6, -0.8, 1.6),
        claims, 0.95, (0.1,),
        "Zeta and theta are not given. Drawn: NEON+'s own iterate, zeta by theory, and theta = 0.2."
        " The scan gives the line search to both.",
    )  # fmt: skip
    panel = figure.panels[0]
    left = gathers(panel, "theirs", {
        "zeta by theory": {},
        "zeta by theory, at t = 10": {"t": (10,)},
        "zeta = 0.9": {"zeta": 0.9},
    })  # fmt: skip
    left = left._replace(note=f"{left.note} Later than t = 10 it leaves: it is not renormalised.")
    ours = gathers(panel, "ours", {f"theta = {theory:.3f}, by theory": {"theta": theory}})
    return figure._replace(claims=(*figure.claims, ours, left))


def exponential_neon() -> Figure:
    """Figure 8."""
    theory, zeta = friction(0.03, 0.5), 1 - sqrt(0.015)
    saddle = {"reference": -0.5}
    claims = (
        Claim(
            "NEON+, t = 40: over 20% of the paths decrease f by no more than 0.9",
            share("theirs", "<=", 0.9, ">", 0.2),
            {
                "literally a decrease": {"zeta": zeta} | saddle,
                f"-f; zeta = {zeta:.3f}, by theory": {"zeta": zeta},
                "-f; zeta = 0.85": {"zeta": 0.85},
                "-f; zeta = 0.7": {"zeta": 0.7},
            },
            "Read literally it is vacuous: no decrease beyond 0.5 exists.",
        ),
        Claim(
            "ANCGD, t = 20: this ratio is less than 10%",
            share("ours", "<=", 0.9, "<", 0.1),
            {
                "literally a decrease": {"theta": 0.2} | saddle,
                f"-f; theta = {theory:.3f}, by theory": {"theta": theory},
                "-f; theta = 0.2": {"theta": 0.2},
                "-f; theta = 0.3": {"theta": 0.3},
            },
        ),
    )
    return _neon(
        landscapes.exponential(), 0.03, 0.5, 40, "search", 4.0, (-4, 4, -1.2, 1.6), claims,
        0.9, (0.1, 0.2),
        "Zeta and theta are not given. Drawn: zeta by theory, theta = 0.2, the line search for "
        "both, and -f for a descent value.", reference=0.0,
    )  # fmt: skip
