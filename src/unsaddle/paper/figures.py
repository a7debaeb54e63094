"""The eight figures, declared: landscape, methods, parameters, times, claims and what is scanned.

All share one code path; a ninth is one more entry here. Common readings, where the captions are
silent: perturbations are uniform in the disc. What a search "obtains" is the lowest value along its
direction, either way, found by a global line search on function values, not counted as iterations.
PAGD's NCE is off but in readings that say so; ANCGD has none in the steps that are compared, as
Algorithm 2 tests for it only outside of the window. "Theory" is sqrt(eta |lambda|)/2 for theta and
1 - sqrt(eta |lambda|) for zeta, the papers' formulas with l = 1/(4 eta) and the saddle's curvature
for gamma. A claim's first reading is the literal one, by theory where the caption leaves a value
open; the others were found by scanning, as the panels show.
"""

from collections.abc import Callable
from functools import partial
from math import sqrt

from unsaddle import landscapes
from unsaddle.paper import accelerated
from unsaddle.paper.batch import Batch
from unsaddle.paper.claims import Claim, Readings, share, similar, under
from unsaddle.paper.declare import Figure, Scan, faster, figure_on, gathers, jump
from unsaddle.paper.experiment import Arm, Panel

PLAIN: Readings = {"common reading": {}}
STEP = 1 / landscapes.h(2, 1.0).smoothness
SCALES: Readings = {  # of figure 3, where the caption and the text differ
    "eps = 0.01, as the caption says; eta = 1/l = 1, by theory": {"eps": 0.01, "eta": 1.0},
    f"eps = 1, as the text says; eta = 1/l = {STEP:.3f}, by theory": {"eta": STEP},
    "eps = 1, eta = 0.05, as drawn": {},
}


def quartic_descent() -> Figure:
    """Figure 1."""
    panel = accelerated.without_momentum()
    ours, theirs = share("ours", "<=", 0.9, "<", 0.05), share("theirs", "<=", 0.9, ">", 0.4)
    rho, own = panel.landscape.hessian_lipschitz, jump(panel.landscape)
    circle = {"common reading: perturbed in the disc": {}, "perturbed on the circle": {"circle": 1}}
    steps = PLAIN | {
        "step of length 1/4 instead of a line search": {"extract": 0.25},
        f"step of length {own:.3f}, by theory, instead of a line search": {"extract": own},
    }
    return figure_on(
        panel,
        Claim("PGD, t = 90: over 40% of paths decrease f by no more than 0.9", theirs, circle),
        Claim("NC-finding, t = 30: this ratio is less than 5%", ours, steps),
        *faster(panel, 0.9, "1/3", 250, PLAIN),
        gathers(panel, "ours", PLAIN),
        scan=Scan(
            "length s of the step along the direction, without a line search",
            (own, 0.25, 0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0),
            lambda s: {"extract": s},
            {"NC-finding": ours},
            {"NC-finding": own},
            (0.05,),
        ),
        note="The line search is the one reading under which NC-finding's half holds: a single "
        "step would have to be between about 1.75 and 2.2 long, where the theory's, |lambda|/(4 "
        f"rho) with rho = {rho:g}, is {own:.3f} and a descent follows. Perturbed on the circle "
        "instead of the disc, PGD does twice as well.",
    )


def stochastic_cubic_descent() -> Figure:
    """Figure 2. ``kick`` is the root mean square length of what PSGD's noise adds to a step."""
    eta, r = 0.02, 0.01
    given, outside = {"eta": eta, "r": r, "m": 1}, sqrt(2) * r
    panel = Panel(
        landscapes.cubic(),
        Arm("SNC-finding", "sgd+nc", (15, 30), given | {"xi": r, "start": 1}),
        Arm("PSGD", "psgd", (30, 60), given | {"kick": outside}),
    )
    ours, theirs = share("ours", "<=", 0.6, "<", 0.1), share("theirs", "<=", 0.6, ">", 0.5)
    printed, inside, variance = {"start": 0}, {"kick": eta * sqrt(2 * r)}, {"kick": sqrt(2 * r)}
    both = {"start": 1, "xi": 1.0}  # xi/L_0 with L_0 = r_s is this xi with L_0 = 1
    samples = {"kick": 0.0, "sigma": r / eta}
    starts = {
        "Algorithm 3 as printed, y_0 = 0": printed,
        "start on the circle of radius r, as the caption says; L_0 = r_s, as printed": both,
        "start on the circle of radius r, as the caption says; L_0 = 1": {"start": 1},
    }
    races = {
        "Algorithm 3 and the noise as published": {"start": 0, "kick": eta * r},
        "Algorithm 3 as printed; noise of standard deviation r outside the step": printed,
        "start on the circle, L_0 = r_s; noise of standard deviation r outside the step": both,
        "start on the circle, L_0 = 1; noise of standard deviation r outside the step": {},
        "Algorithm 3 as printed; noise of variance r inside the step": printed | inside,
        "Algorithm 3 as printed; noise of variance r outside the step": printed | variance,
        "start on the circle, L_0 = 1; noise of variance r outside the step": variance,
    }
    noises = {
        "noise N(0, r^2/d) inside the step, as published": {"kick": eta * r},
        "noise of standard deviation r outside the step": {"kick": outside},
        "noise of variance r inside the step": inside,
        "noise of variance r outside the step": variance,
        "no noise but that of the samples, additive, of standard deviation r/eta": samples,
    }
    published = (
        "Noise as published is N(0, r^2/d) inside the step: PSGD hardly moves at first. The "
        "caption's word for r is variance."
    )
    return figure_on(
        panel,
        Claim(
            "PSGD, t = 60: over 50% of paths decrease f by no more than 0.6",
            theirs,
            noises,
            "Under the published noise the claim is vacuous: PSGD has hardly moved. The caption "
            "calls r a variance: outside the step such noise is ten times larger, and the claim is "
            "false.",
        ),
        Claim("SNC-finding, t = 30: this ratio is less than 10%", ours, starts),
        *faster(panel, 0.6, "1/2", 250, races, published),
        gathers(panel, "ours", starts),
        scan=Scan(
            "standard deviation of the noise in a step",
            (1e-4, 3e-4, 1e-3, 2e-3, 4e-3, 7e-3, 0.01, 0.014, 0.02, 0.03, 0.05, 0.1),
            lambda v: {"kick": sqrt(2) * v, "sigma": v / eta},
            {
                "SNC-finding": ours,
                "PSGD": under(theirs, sigma=0.0),
                "SNC-finding from y_0 = 0, as printed": under(ours, start=0),
            },
            {"PSGD": eta * r / sqrt(2)},
            (0.1, 0.5),
            "decrease <= 0.6",
            logarithmic=True,
        ),
        note="SNC-finding is drawn from the circle, as the caption says, with L_0 = 1. Algorithm 3 "
        "prints y_0 = 0 and L_0 = r_s; from y_0 = 0 it does not matter what L_0 is, but on the "
        "circle the printed one lets the first steps be all noise, and the search does as badly as "
        "from 0. The noise model is not given. PSGD is drawn with noise of standard deviation 0.01 "
        "per step. Additive noise of the samples cancels in Algorithm 3, which differences the "
        "same samples at two points, and not in PSGD, where it is as good as noise of its own: "
        "such a model favours SNC-finding. The scan gives PSGD noise of its own, and SNC-finding "
        "samples whose noise would move PSGD by as much: its share does not change at all.",
    )


def dimension_dependence() -> Figure:
    """Figure 3; h depends on x2, ..., xn through their length only, so two coordinates do."""
    given = {"eta": 0.05, "r": 0.1}
    panels = tuple(
        Panel(
            landscapes.h(2, 1.0),
            Arm("NC-finding", "pgd+nc", (30 * p,), given),
            Arm("PGD", "pgd", (20 * p * p + 10,), given),
            title=f"n = {10**p}",
            ops=Batch(n=10**p),
            family=partial(landscapes.h, 2),
        )
        for p in (1, 2, 3)
    )
    similarity = Claim(
        "The statistics of both are similar at 30 p and 20 p^2 + 10 iterations, n = 10^p",
        similar(0.9, 0.1),
        {
            **SCALES,
            "eps = 1, eta = 0.3": {"eta": 0.3},
            "eps = 0.01, eta = 0.05": {"eps": 0.01},
            "eps = 0.01, eta = 0.3": {"eps": 0.01, "eta": 0.3},
        },
        "Share of samples with a decrease above 0.9 eps^2. Read as: they differ by at most 10 "
        "points. That is vacuous where all samples of both are through, as at eps = 1 and eta = "
        "0.3, or none of either, as at eps = 0.01 and eta = 0.05: how many iterations each has "
        "does not matter there.",
    )
    return Figure(
        "Dimension dependence of NC-finding and PGD on h",
        panels,
        (similarity,),
        Scan(
            "step length eta, n = 10",
            (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
            lambda eta: {"eta": eta},
            {
                "NC-finding": share("ours", ">", 0.9, ">", 0.5),
                "PGD": share("theirs", ">", 0.9, ">", 0.5),
            },
            {"NC-finding": STEP, "PGD": STEP},
            (),
            "decrease > 0.9",
        ),
        "The caption says eps = 0.01 and the text eps = 1; the step is not given, by theory it is "
        "1/l. We draw eps = 1 and eta = 0.05, the step of figure 1, and 300 samples as elsewhere, "
        "where the paper has 100. How iterations grow with n is measured apart, in "
        "'Growth with the dimension'.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {
    "fig1": quartic_descent,
    "fig2": stochastic_cubic_descent,
    "fig3": dimension_dependence,
    "fig4": accelerated.quartic_accelerated,
    "fig5": accelerated.triangle_accelerated,
    "fig6": accelerated.exponential_accelerated,
    "fig7": accelerated.triangle_neon,
    "fig8": accelerated.exponential_neon,
}
