"""Phase retrieval and a two-layer network on scikit-learn's digits, both started at a saddle.

How many gradients of single samples do plain SGD, PSGD and sgd+nc need to leave? Steps are 1/l for
all, batches 100 for SGD and PSGD. Given the name of a file, it draws the picture there.
The constants are estimates: how far does sgd+nc depend on them? A table of that is printed too.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import root
from sklearn.datasets import load_digits

from unsaddle import FiniteSum, minimize_stochastic, style

Vector = np.ndarray


class Problem(NamedTuple):
    """A finite sum, a saddle of it, and what is assumed of it."""

    name: str
    data: FiniteSum
    loss: Callable[[Vector], float]
    saddle: Vector
    left: float  # the loss below which the saddle is left
    constants: dict[str, Any]


def phase_retrieval(n: int = 20, rows: int = 600) -> Problem:
    """Find x from (a.x)^2 for random a: mean of ((a.x)^2 - b)^2/4. The saddle is across from x."""
    rng = np.random.default_rng(0)
    a, truth = rng.standard_normal((rows, n)), np.eye(n)[0]
    b = (a @ truth) ** 2

    def grad(x: Vector, a: Vector, b: Vector) -> Vector:
        y = a @ x
        return a.T @ ((y**2 - b) * y) / len(a)

    def hessian(x: Vector, a: Vector, b: Vector) -> Vector:
        return a.T @ ((3 * (a @ x) ** 2 - b)[:, None] * a) / len(a)

    across = np.eye(n)[1] / np.sqrt(3)
    saddle = root(grad, across, args=(a, b), jac=hessian, method="lm", tol=1e-15).x
    apart = a * ((a @ saddle) ** 3 - b * (a @ saddle))[:, None]

    def loss(x: Vector) -> float:
        return float(np.mean(((a @ x) ** 2 - b) ** 2) / 4)

    return Problem(
        "phase retrieval, n = 20",
        FiniteSum(grad, a, b),
        loss,
        saddle,
        0.7 * loss(saddle),
        {
            "smoothness": 7.0,
            "hessian_lipschitz": 18.0,
            "stochastic_smoothness": 20.0,
            "variance": float(np.mean(np.sum(apart**2, 1))),
            "tol": 0.05,
            "curvature_tol": 1.0,
        },
    )


def network(hidden: int = 8) -> Problem:
    """Classify digits with one hidden layer of tanh; with all weights zero nothing can move it."""
    images, digits = map(np.asarray, load_digits(return_X_y=True))
    pixels = images / 16 - (images / 16).mean(0)
    onehot = np.eye(10)[digits]
    shapes = [(64, hidden), (hidden,), (hidden, 10), (10,)]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])

    def parts(x: Vector) -> list[Vector]:
        return [p.reshape(s) for p, s in zip(np.split(x, ends[:-1]), shapes, strict=True)]

    def forward(x: Vector, inputs: Vector) -> tuple[Vector, Vector]:
        w, c, v, d = parts(x)
        h = np.tanh(inputs @ w + c)
        z = h @ v + d
        z = z - z.max(1, keepdims=True)
        return h, z - np.log(np.exp(z).sum(1, keepdims=True))

    def grad(x: Vector, inputs: Vector, targets: Vector) -> Vector:
        h, logp = forward(x, inputs)
        dz = (np.exp(logp) - targets) / len(inputs)
        dh = dz @ parts(x)[2].T * (1 - h**2)
        pieces = (inputs.T @ dh, dh.sum(0), h.T @ dz, dz.sum(0))
        return np.concatenate([piece.ravel() for piece in pieces])

    def loss(x: Vector) -> float:
        return float(-np.mean(np.sum(onehot * forward(x, pixels)[1], 1)))

    saddle = np.zeros(ends[-1])
    saddle[-10:] = np.log(onehot.mean(0))
    return Problem(
        f"two-layer network on digits, n = {ends[-1]}",
        FiniteSum(grad, pixels, onehot),
        loss,
        saddle,
        0.7 * loss(saddle),
        {
            "smoothness": 2.0,
            "hessian_lipschitz": 1.0,
            "stochastic_smoothness": 4.0,
            "variance": 0.9,
            "tol": 0.05,
            "curvature_tol": 0.2,
        },
    )


def methods(problem: Problem) -> dict[str, dict[str, Any]]:
    """Give the three competitors, of which sgd+nc chooses its batches itself."""
    walk = {"method": "psgd", "step": 1 / problem.constants["smoothness"], "batch": 100}
    return {
        "SGD": {**walk, "radius": 1e-300},  # psgd takes no zero: this much is never seen
        "PSGD, noise 1e-3": {**walk, "radius": 1e-3},
        "sgd+nc": {"method": "sgd+nc"},
    }


def follow(problem: Problem, limit: int, seed: int = 0, **given: Any) -> tuple[Vector, Vector]:
    """Run one method; give the gradients taken and the loss, wherever the iterate moved."""
    spent, losses, calls = [0], [problem.loss(problem.saddle)], [0]

    def counted(x: Vector, *rows: Vector) -> Vector:
        calls[0] += len(rows[0])
        return problem.data.grad(x, *rows)

    before = [problem.saddle]

    def callback(x: Vector) -> None:
        if not np.array_equal(x, before[0]):
            before[0] = x
            spent.append(calls[0])
            losses.append(problem.loss(x))

    minimize_stochastic(
        FiniteSum(counted, *problem.data.data),
        problem.saddle,
        seed=seed,
        max_samples=limit,
        callback=callback,
        **problem.constants,
        **given,
    )
    return np.array([*spent, limit]), np.array([*losses, losses[-1]])


def leaves(problem: Problem, spent: Vector, losses: Vector) -> float:
    """Give the gradients taken until the saddle is left."""
    return float(spent[np.argmax(losses < problem.left)]) if losses.min() < problem.left else np.inf


def sensitivity(problem: Problem, limit: int = 400_000) -> Iterator[str]:
    """Halve and double each constant: a line of Markdown with the median over three seeds."""
    for constant, value in problem.constants.items():
        cells = []
        for factor in (0.5, 1.0, 2.0):
            changed = problem._replace(constants={**problem.constants, constant: factor * value})
            runs = [leaves(problem, *follow(changed, limit, seed)) for seed in range(3)]
            cells.append("stays" if np.isinf(np.median(runs)) else f"{np.median(runs):,.0f}")
        yield f"| {problem.name} | `{constant}` = {value:.3g} | {' | '.join(cells)} |"


def draw(picture: Path) -> None:
    """Run every method once, print when the saddle is left, and draw."""
    figure, axes = style.begin().subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    left: Counter[str] = Counter()
    colours = {"SGD": style.THEIRS, "PSGD, noise 1e-3": style.SOFT, "sgd+nc": style.OURS}
    for axis, problem in zip(axes, (phase_retrieval(), network()), strict=True):
        limit = 300_000
        for name, given in methods(problem).items():
            spent, losses = follow(problem, limit, **given)
            out = leaves(problem, spent, losses)
            left[name] += bool(np.isfinite(out))
            says = "never leaves" if np.isinf(out) else f"left after {out:,.0f}"
            print(f"{problem.name}: {name}: {says}; last loss {losses[-1]:.3g}", flush=True)
            axis.plot(
                np.maximum(spent, 100),
                losses,
                color=colours[name],
                label=f"{name}: {says}",
                drawstyle="steps-post",
                linewidth=1.8,
                linestyle="--" if name == "SGD" else "-",
                zorder=3 if name == "SGD" else 2,
            )
        axis.set(title=problem.name, xlabel="gradients of single samples", ylabel="loss")
        axis.set(xscale="log", xlim=(100, limit))
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), labelcolor="linecolor")
    title = f"sgd+nc leaves {left['sgd+nc']} of 2 saddles, SGD alone {left['SGD']}"
    style.headline(figure, title)
    style.save(figure, picture)


def main(picture: str = "docs/pictures/stochastic.png") -> None:
    """Draw, and print what happens when each constant is halved or doubled.

    Args:
        picture: The file to write.
    """
    draw(Path(picture))
    for problem in (phase_retrieval(), network()):
        print(*sensitivity(problem), sep="\n", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
