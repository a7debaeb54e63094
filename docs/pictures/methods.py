"""Draw methods.png, and write methods.json: every method from one start to its certificate.

python docs/pictures/methods.py && python docs/methods.py
"""

import json
from pathlib import Path

import numpy as np

import unsaddle
from unsaddle import METHODS, landscapes, style

PLACE = Path(__file__)
START, TOL, MOST = (0.0, 1.3), 1e-2, 100_000  # on the line that leads to the saddle
COLUMNS, SIDES = 5, (-2.7, 2.7, -1.5, 1.5)


def main() -> None:
    """Run, draw and write."""
    f = landscapes.quartic()
    known = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz,
             "decrease_available": float(f.value(np.array(START)) - f.infimum)}  # fmt: skip
    rows = -(-len(METHODS) // COLUMNS)
    figure, axes = style.begin().subplots(
        rows, COLUMNS, figsize=(9, 1.75 * rows + 0.4), layout="constrained"
    )
    left, right, bottom, top = SIDES
    x, y = np.meshgrid(np.linspace(left, right, 121), np.linspace(bottom, top, 81))
    height = f.value(np.stack([x, y], -1))
    taken: dict[str, int] = {}
    for axis, (name, method) in zip(axes.flat, METHODS.items(), strict=False):
        given = {word: known[word] for word in method.constants}
        result = unsaddle.minimize(f.value, np.array(START), jac=f.gradient, method=name, tol=TOL,
                                   max_gradients=MOST, **given)  # fmt: skip
        assert result.success, (name, result.message)
        taken[name] = result.njev
        axis.contour(x, y, height, 12, colors=style.FAINT, linewidths=0.6)
        axis.plot(*np.vstack([START, result.history.path]).T, color=style.OURS, linewidth=1.2)
        axis.plot(*START, "o", color=style.INK, markersize=4)
        axis.plot(0, 0, "X", color=style.THEIRS, markersize=7)
        axis.plot(*result.x, "o", color=style.CERTIFIED, markersize=6)
        axis.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
        axis.set_title(f"{name}: {result.njev:,}", fontsize=style.SIZE)
        axis.spines[:].set_visible(False)
    for axis in axes.flat[len(METHODS) :]:
        axis.set_axis_off()
    words = "black or white: start\norange: the saddle\ngreen: certified end"
    axes.flat[len(METHODS)].text(0, 0.5, words, fontsize=8.5, va="center")
    style.headline(
        figure, "From one start by way of the saddle to a certified minimum: gradients taken"
    )
    style.save(figure, PLACE.with_suffix(".png"))
    record = {"tol": TOL, "gradients": taken}
    PLACE.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
