"""What `auto` costs beside SciPy's L-BFGS-B, from 2 to 10^6 variables; and several starts at once.

Each ratio is the median over rounds in which both sides take turns within one process, by the time
of the processor. What the user's function takes is measured in the same round, and taken off where
a row says so.
"""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize as scipy_minimize

import unsaddle
from unsaddle import style

TOL = 1e-5
SIZES = (2, 10, 100, 1000, 10**4, 10**5, 10**6)
LIMITS = {2: 2.0, 10: 2.0, 100: 2.0, 1000: 1.5, 10**4: 1.5, 10**5: 1.1, 10**6: 1.1}
TO_THE_END, SPEEDUP = 2.0, 1.7
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "cost.png"
COLOURS = {"rosenbrock": style.OURS, "quadratic": style.PALETTE[3], "wells": style.PALETTE[4]}


class Problem(NamedTuple):
    """A cheap function, its gradient and a start."""

    value: Callable[[Any], float]
    gradient: Callable[[Any], Any]
    start: Any


def rosenbrock(n: int) -> Problem:
    """Rosenbrock's function of every two variables, from (-1.2, 1)."""

    def value(x: Any) -> float:
        a, b = x[::2], x[1::2]
        bow, rest = b - a * a, 1 - a
        return float(100 * (bow @ bow) + rest @ rest)

    def gradient(x: Any) -> Any:
        a, answer = x[::2], np.empty_like(x)
        bow = x[1::2] - a * a
        answer[1::2] = 200 * bow
        answer[::2] = -400 * a * bow - 2 * (1 - a)
        return answer

    return Problem(value, gradient, np.tile([-1.2, 1.0], n // 2))


def quadratic(n: int) -> Problem:
    """sum d_i x_i^2/2, with curvatures from 1 to 1000, from (1, ..., 1)."""
    d = np.logspace(0, 3, n)
    return Problem(lambda x: float(x @ (d * x)) / 2, lambda x: d * x, np.ones(n))


def wells(n: int) -> Problem:
    """A ring of double wells with weak links, from near the saddle in the middle."""

    def value(x: Any) -> float:
        square, link = x * x, x - np.roll(x, 1)
        return float(square @ square / 4 - square.sum() / 2 + 0.05 * (link @ link))

    def gradient(x: Any) -> Any:
        return x * x * x - 0.8 * x - 0.1 * (np.roll(x, 1) + np.roll(x, -1))

    return Problem(value, gradient, 0.1 * np.random.default_rng(0).standard_normal(n))


PROBLEMS = {"rosenbrock": rosenbrock, "quadratic": quadratic, "wells": wells}


class Cost(NamedTuple):
    """What a run took, in seconds of the processor."""

    total: float
    own: float  # without the user's function
    gradients: int


def timed(solve: Callable[[], Any], problem: Problem) -> Cost:
    """Run, and then do nothing but what the function did in that run."""
    begin = time.process_time()
    result = solve()
    between = time.process_time()
    for _ in range(result.nfev):
        problem.value(result.x)
    for _ in range(result.njev):
        problem.gradient(result.x)
    total = between - begin
    return Cost(total, total - (time.process_time() - between), result.njev)


def ours(problem: Problem) -> Any:
    """Run `auto` to the certificate."""
    result = unsaddle.minimize(problem.value, problem.start, jac=problem.gradient, tol=TOL)
    if not result.success:
        raise RuntimeError(f"auto was to be certified, but: {result.message}")
    return result


def theirs(problem: Problem) -> Any:
    """Run L-BFGS-B until |g| is as small."""
    options = {"gtol": TOL / len(problem.start) ** 0.5, "ftol": 0.0, "maxiter": 10**6}
    options["maxfun"] = 10**6
    return scipy_minimize(
        problem.value, problem.start, jac=problem.gradient, method="L-BFGS-B", options=options
    )


class Row(NamedTuple):
    """One problem of one size."""

    problem: str
    n: int
    ours: float  # microseconds a gradient
    theirs: float
    each: float  # ratio per gradient
    end: float  # ratio to the end
    gradients: str


def measured(name: str, n: int) -> Row:
    """Let both sides take turns."""
    problem = PROBLEMS[name](n)
    rounds = min(41, max(3, 30000 // n))
    pairs = [
        (timed(lambda: ours(problem), problem), timed(lambda: theirs(problem), problem))
        for _ in range(rounds + 1)
    ][1:]
    each = [[1e6 * cost.own / cost.gradients for cost in pair] for pair in pairs]
    counts = " / ".join(str(cost.gradients) for cost in pairs[0])
    return Row(
        name,
        n,
        median(mine for mine, _ in each),
        median(other for _, other in each),
        median(mine / other for mine, other in each),
        median(mine.total / other.total for mine, other in pairs),
        counts,
    )


def power(n: int) -> str:
    """Write a number of variables."""
    return str(n) if n < 1000 else f"10^{len(str(n)) - 1}"


def yes(holds: bool) -> str:
    """Say whether a limit is met."""
    return "yes" if holds else "no"


def time_table(sizes: tuple[int, ...] = SIZES) -> str:
    """Measure all problems at all sizes, and draw the picture."""
    head = (
        "n | problem | gradients | us | us of L-BFGS-B | ratio | at most | met | to the end | met"
    )
    lines, rows = [f"| {head} |", "|---" * 10 + "|"], []
    for n in sizes:
        for name in PROBLEMS:
            row = measured(name, n)
            rows.append(row)
            met = yes(round(row.each, 2) <= LIMITS[n])
            cells = f"{row.ours:.1f} | {row.theirs:.1f} | {row.each:.2f} | {LIMITS[n]} | {met}"
            end = f"{row.end:.2f} | {yes(round(row.end, 2) <= TO_THE_END)}"
            lines.append(f"| {power(n)} | {name} | {row.gradients} | {cells} | {end} |")
            print(lines[-1], flush=True)
    draw(rows)
    return "\n".join(lines)


def draw(rows: list[Row]) -> None:
    """Draw both ratios by n."""
    figure, panels = style.begin().subplots(
        1, 2, figsize=(9, 3.6), layout="constrained", sharey=True
    )
    titles = ("per gradient, without the function", "to the certified end, with the function")
    for axes, title, field in zip(panels, titles, ("each", "end"), strict=True):
        for name, colour in COLOURS.items():
            own = [row for row in rows if row.problem == name]
            heights = [getattr(row, field) for row in own]
            axes.plot([row.n for row in own], heights, "o-", color=colour, label=name)
        limits = LIMITS if field == "each" else dict.fromkeys(LIMITS, TO_THE_END)
        steps = [*limits], [*limits.values()]
        axes.step(*steps, where="mid", color=style.SOFT, ls=":", label="at most")
        axes.axhline(1, color=style.SOFT, linewidth=0.8)
        axes.set(xscale="log", title=title, xlabel="variables")
    panels[0].set(ylabel="auto's time, by L-BFGS-B's", ylim=(0, None))
    panels[1].legend()
    style.headline(figure, "Slower than compiled code below ten thousand variables, faster above")
    style.save(figure, PICTURE)


def slow_wells(x: Any) -> float:
    """Take about a millisecond."""
    return float(np.sum(x**4 / 4 - x**2 / 2)) + 0.0 * float(np.sin(WASTE).sum())


def slow_slope(x: Any) -> Any:
    """Take about a millisecond too."""
    return x**3 - x + 0.0 * float(np.sin(WASTE).sum())


WASTE = np.linspace(0, 1, 10**5)


def starts_table() -> str:
    """Measure 64 starts on one worker and on two, in turns, by the clock on the wall."""
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(3):
        for workers, taken in times.items():
            begin = time.perf_counter()
            unsaddle.minimize(slow_wells, np.zeros(4), jac=slow_slope, starts=64, workers=workers)
            taken.append(time.perf_counter() - begin)
    speedup = median(one / two for one, two in zip(times[1], times[2], strict=True))
    rows = [f"| {workers} | {min(taken):.2f} |" for workers, taken in times.items()]
    verdict = f"{speedup:.2f} times as fast on two as on one; at least {SPEEDUP} is wanted."
    return "\n".join(["| workers | seconds |", "|---|---|", *rows, "", verdict])
