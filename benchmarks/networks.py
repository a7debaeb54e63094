"""What Auto and an idle Escape cost on networks of many tensors, beside torch's own optimisers."""
# pyright: reportPrivateImportUsage=false

import math
import time
from collections.abc import Callable
from statistics import median

import torch

import unsaddle.torch
from unsaddle.descents import compact_form

STEPS, ROUNDS = 50, 9  # of a descent, more than there are pairs
SIZES = [(tensors, n) for n in (10**4, 10**6) for tensors in (4, 22, 62)]


class Network:
    """The weights and biases of square layers, and a closure that keeps the time it takes."""

    def __init__(self, tensors: int, n: int) -> None:
        """Draw them, and curvatures from 10^-3 to 1."""
        draw, width = torch.Generator().manual_seed(0), int(math.sqrt(2 * n / tensors))
        shapes = [(width, width), (width,)] * (tensors // 2)
        self.params = [torch.nn.Parameter(torch.randn(it, generator=draw)) for it in shapes]
        self.at = [p.detach() for p in self.params]
        self.curvatures = [10 ** (-3 * torch.rand(it, generator=draw)) for it in shapes]
        self.gradients, self.seconds = 0, 0.0

    @torch.no_grad()
    def closure(self) -> torch.Tensor:
        """sum d_i x_i^2/2."""
        begin = time.perf_counter()
        gradient = torch._foreach_mul(self.curvatures, self.at)
        for p, part in zip(self.params, gradient, strict=True):
            p.grad = part
        loss = torch.stack(torch._foreach_norm(torch._foreach_mul(gradient, self.at), 1)).sum() / 2
        self.gradients += 1
        self.seconds += time.perf_counter() - begin
        return loss


def per_gradient(tensors: int, n: int) -> tuple[float, float]:
    """Give what Auto and LBFGS cost per gradient, without the gradient, in milliseconds."""

    def auto(network: Network) -> Callable[[], object]:
        opt = unsaddle.torch.Auto(network.params, tol=1e-30)
        return lambda: [opt.step(network.closure) for _ in range(STEPS)]

    def lbfgs(network: Network) -> Callable[[], object]:
        opt = torch.optim.LBFGS(
            network.params,
            max_iter=STEPS,
            max_eval=2 * STEPS,
            history_size=compact_form.pairs_for(n),
            tolerance_grad=0.0,
            tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )
        return lambda: opt.step(network.closure)

    taken = []
    for make in (auto, lbfgs):
        network = Network(tensors, n)
        seconds = timed(make(network)) - network.seconds
        taken.append(1e3 * seconds / network.gradients)
    return taken[0], taken[1]


def idle(tensors: int, n: int) -> tuple[float, float]:
    """Give what a step of Adam costs with an Escape around it and without, in milliseconds."""
    wrapped, alone = Network(tensors, n), Network(tensors, n)
    loss, _ = wrapped.closure(), alone.closure()
    escape = unsaddle.torch.Escape(torch.optim.Adam(wrapped.params, lr=1e-9), tol=1e-12)
    adam = torch.optim.Adam(alone.params, lr=1e-9)
    first = timed(lambda: [escape.step(loss=loss) for _ in range(STEPS)])
    second = timed(lambda: [adam.step() for _ in range(STEPS)])
    return 1e3 * first / STEPS, 1e3 * second / STEPS


def timed(run: Callable[[], object]) -> float:
    """Give the seconds that a run takes."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


CASES = {"`Auto` beside `LBFGS`": (per_gradient, 1.2), "idle `Escape` around `Adam`": (idle, 1.05)}


def networks() -> list[str]:
    """Measure networks in turns, and give the rows of their table: best times, median ratios."""
    head = "| what | tensors | n | ours, ms | torch's, ms | ratio | at most | met |"
    rows = [head, "|---" * 8 + "|"]
    for name, (measure, most) in CASES.items():
        for tensors, n in SIZES:
            pairs = [measure(tensors, n) for _ in range(ROUNDS)]
            ours, theirs = (min(column) for column in zip(*pairs, strict=True))
            ratio = round(median(mine / other for mine, other in pairs), 2)
            size, met = f"10^{round(math.log10(n))}", "yes" if ratio <= most else "no"
            numbers = f"{ours:.2f} | {theirs:.2f} | {ratio:.2f} | {most} | {met}"
            rows.append(f"| {name} | {tensors} | {size} | {numbers} |")
            print(rows[-1], flush=True)
    return rows
