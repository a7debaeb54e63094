"""Draw the pictures of docs/examples.md: each example is run, and its two ends are drawn.

python docs/pictures/gallery.py [NAME ...]
"""

import contextlib
import io
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from unsaddle import style

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
NUMBER = r"(-?\d+\.\d+)"
SPIN = {"scale": 9, "width": 0.012, "pivot": "mid"}


def matrix_completion(axes: Any, its: dict[str, Any], printed: str) -> None:
    """Draw the matrix that is sought, and both answers."""
    rows, columns, rank, truth = (its[it] for it in ("rows", "columns", "rank", "truth"))

    def product(x: Any) -> Any:
        return x[: rows * rank].reshape(rows, rank) @ x[rows * rank :].reshape(columns, rank).T

    shown = {
        "L-BFGS-B: zero": product(its["stuck"].x),
        "unsaddle": product(its["result"].x),
        "what was sought": truth,
    }
    for each, (title, matrix) in zip(axes, shown.items(), strict=True):
        each.imshow(matrix.T, cmap="RdBu", vmin=-3, vmax=3, aspect="auto")
        bare(each, title)


def phase_retrieval(axes: Any, its: dict[str, Any], printed: str) -> None:
    """Draw the signal and both answers."""
    truth, found = its["truth"], its["result"].x
    axes[0].plot(truth, color=style.FAINT, linewidth=5)
    axes[0].plot(found * np.sign(found @ truth), color=style.OURS)
    axes[0].plot(its["stuck"].x, color=style.THEIRS, linewidth=2)
    axes[0].set(xlim=(0, 70), xticks=[], yticks=[])
    ends = {
        "BFGS: zero": (0.0, style.THEIRS),
        "unsaddle": (-1.2, style.OURS),
        "signal": (1.2, style.SOFT),
    }
    style.name_ends(axes[0], ends, 50)


def tensor_decomposition(axes: Any, its: dict[str, Any], printed: str) -> None:
    """Draw how well each component is found."""
    d, components = its["d"], its["components"]
    places = np.arange(d)
    for name, shift, colour in (("stuck", -0.2, style.THEIRS), ("result", 0.2, style.OURS)):
        best = np.abs(its[name].x.reshape(d, d) @ components.T).max(0)
        axes[0].bar(places + shift, best, 0.36, color=colour)
    axes[0].set(
        xlabel="component; orange: L-BFGS-B, blue: unsaddle", ylabel="overlap", xticks=places
    )


def spin_ring(axes: Any, its: dict[str, Any], printed: str) -> None:
    """Draw the spins of both ends on their ring."""
    around = 2 * np.pi * np.arange(its["n"]) / its["n"]
    for each, name, colour in ((axes[0], "stuck", style.THEIRS), (axes[1], "result", style.OURS)):
        spins = its[name].x
        each.quiver(
            np.cos(around), np.sin(around), np.cos(spins), np.sin(spins), color=colour, **SPIN
        )
        each.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal")
        words = "CG" if name == "stuck" else "unsaddle"
        bare(each, f"{words}: energy {its[name].fun:.2f}")


def somebody_elses_optimum(axes: Any, its: dict[str, Any], printed: str) -> None:
    """Draw the errors of both fits."""
    time, data = its["time"], its["data"]
    for name, colour, words in (
        ("fit", style.THEIRS, "BFGS"),
        ("better", style.OURS, "from the saddle on"),
    ):
        a, b, c, d = its[name].x
        error = a * np.exp(-b * time) + c * np.exp(-d * time) - data
        axes[0].plot(time, error, color=colour, label=words)
    axes[0].set(xlabel="time", ylabel="error of the fit")
    axes[0].legend(labelcolor="linecolor")


def levels(axes: Any, its: dict[str, Any], printed: str) -> None:
    """Draw the numbers that are printed, of which the first is where others stay."""
    found = re.findall(r"^(.*?)[:,]? +(?:log-likelihood|loss|energy) " + NUMBER, printed, re.M)
    more = re.findall(rf"{NUMBER} at zero, {NUMBER} at the end", printed)
    named = [("at zero", more[0][0]), ("unsaddle", more[0][1])] if more else found
    named += re.findall(rf"^(ground state) {NUMBER}", printed, re.M)
    for height, (name, number) in enumerate(reversed(named)):
        ours = name.lower().startswith(("unsaddle", "with unsaddle", "escape"))
        colour = style.OURS if ours else style.SOFT if "ground" in name else style.THEIRS
        axes[0].barh(height, float(number), 0.6, color=colour)
    names = [f"{name}: {number}".replace("  ", "") for name, number in reversed(named)]
    axes[0].set_yticks(range(len(names)), names)
    axes[0].tick_params(axis="y", length=0)
    axes[0].locator_params(axis="x", nbins=4)
    axes[0].spines["left"].set_visible(False)


def atoms(axes: Any, its: dict[str, Any], printed: str) -> None:
    """Draw both structures."""
    from ase.visualize.plot import plot_atoms

    both = {"BFGS": its.get("stuck", its.get("flat")), "unsaddle": its["atoms"]}
    for each, (words, those) in zip(axes, both.items(), strict=True):
        apart = those.get_all_distances()
        radii = [0.45 * apart[apart > 0].min()] * len(those)
        look = {"rotation": "-70x,20y,0z", "colors": ["#c97b4a"] * len(those), "radii": radii}
        plot_atoms(those, each, **look)
        bare(each, f"{words}: {those.get_potential_energy():.2f}")


def bare(axes: Any, title: str) -> None:
    """Show no frame, and a title."""
    axes.set(xticks=[], yticks=[], xlabel="", ylabel="", title=title)
    axes.spines[:].set_visible(False)


DRAWN: dict[str, tuple[Callable[..., None], int]] = {  # how, and with how many panels
    "matrix_completion": (matrix_completion, 3),
    "phase_retrieval": (phase_retrieval, 1),
    "tensor_decomposition": (tensor_decomposition, 1),
    "spin_ring": (spin_ring, 2),
    "somebody_elses_optimum": (somebody_elses_optimum, 1),
    "gaussian_process": (levels, 1),
    "stuck_network": (levels, 1),
    "deep_linear_network": (levels, 1),
    "quantum_circuit": (levels, 1),
    "copper_cluster": (atoms, 2),
    "lennard_jones": (atoms, 2),
}


def main(names: list[str]) -> None:
    """Run the examples of these names, or all, and draw them."""
    for name in names or DRAWN:
        draw, panels = DRAWN[name]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            its = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        figure, axes = style.begin().subplots(
            1, panels, figsize=(5.4, 2.1), layout="constrained", squeeze=False
        )
        draw(axes[0], its, output.getvalue())
        style.save(figure, HERE / f"example-{name.replace('_', '-')}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
