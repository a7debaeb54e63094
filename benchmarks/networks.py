"""What Auto and an idle Escape cost on networks of many tensors, beside torch's own optimisers.

Times are those of the processor, on one thread: other work on the machine hardly counts then.
"""
# pyright: reportPrivateImportUsage=false

import math
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import torch

import unsaddle.torch
from unsaddle.descents import compact_form
from unsaddle.torch.ops import ops

SIZES = [(tensors, 10**k) for k in (4, 5, 6, 7) for tensors in (4, 22, 62)]
AUTO, ESCAPE = 1.2, 1.05  # what is allowed, of torch's own optimiser
LOOKS = 10  # steps, of which one looks at the norm


class Effort(NamedTuple):
    """How much is measured."""

    steps: int  # of a descent, more than there are pairs
    rounds: int
    turn: int  # steps of an idle optimiser before it is the turn of the next
    turns: int


def effort(n: int) -> Effort:
    """Give what takes seconds."""
    if n < 10**6:
        return Effort(steps=50, rounds=5, turn=5, turns=60)
    if n < 10**7:
        return Effort(steps=25, rounds=3, turn=2, turns=40)
    return Effort(steps=15, rounds=1, turn=1, turns=16)


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
        begin = time.process_time()
        gradient = torch._foreach_mul(self.curvatures, self.at)
        for p, part in zip(self.params, gradient, strict=True):
            p.grad = part
        loss = torch.stack(torch._foreach_norm(torch._foreach_mul(gradient, self.at), 1)).sum() / 2
        self.gradients += 1
        self.seconds += time.process_time() - begin
        return loss


def per_gradient(tensors: int, n: int) -> tuple[float, float]:
    """Give what Auto and LBFGS cost per gradient, without the gradient, in milliseconds."""
    steps = effort(n).steps

    def auto(network: Network) -> Callable[[], object]:
        opt = unsaddle.torch.Auto(network.params, tol=1e-30)
        return lambda: [opt.step(network.closure) for _ in range(steps)]

    def lbfgs(network: Network) -> Callable[[], object]:
        opt = torch.optim.LBFGS(
            network.params,
            max_iter=steps,
            max_eval=2 * steps,
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


class Around(torch.optim.Optimizer):
    """An optimiser around Adam that looks at the norm of the gradient so often, or never."""

    def __init__(self, inner: torch.optim.Optimizer, every: float) -> None:
        """Take the optimiser."""
        super().__init__(inner.param_groups, inner.defaults)
        self.inner, self.every, self.steps = inner, every, 0

    def step(self, closure: Any = None, *, loss: Any = None) -> Any:
        """Look, and let Adam take a step."""
        self.steps += 1
        gradient = [p.grad for group in self.param_groups for p in group["params"]]
        if self.steps % self.every or ops.norm(gradient) < math.inf:
            self.inner.step()
        return loss


IDLE: dict[str, Callable[[Any], Any]] = {
    "`Escape(tol=1e-12)`": lambda inner: unsaddle.torch.Escape(inner, tol=1e-12),
    "`Escape()`": unsaddle.torch.Escape,
    "nothing": lambda inner: Around(inner, math.inf),
    "norm": lambda inner: Around(inner, 1),
    "every tenth norm": lambda inner: Around(inner, LOOKS),
}


def idle(tensors: int, n: int) -> tuple[float, list[float]]:
    """Give a step of Adam in milliseconds, and what a step takes with each of these around it."""
    steps: list[Callable[[], object]] = []
    for make in (None, *IDLE.values()):
        network = Network(tensors, n)
        loss, adam = network.closure(), torch.optim.Adam(network.params, lr=1e-9)
        steps.append(adam.step if make is None else partial(make(adam).step, loss=loss))
    _, _, turn, turns = effort(n)
    taken = [[timed(step, turn) for step in steps] for _ in range(turns + 1)][1:]
    shares = [median(turn[k] / turn[0] for turn in taken) for k in range(1, len(steps))]
    return 1e3 * median(turn[0] for turn in taken), shares


def timed(run: Callable[[], object], times: int = 1) -> float:
    """Give the seconds that the processor takes for a run, of several the mean."""
    begin = time.process_time()
    for _ in range(times):
        run()
    return (time.process_time() - begin) / times


def power(n: int) -> str:
    """Give a power of ten as the tables do."""
    return f"10^{round(math.log10(n))}"


def networks() -> list[str]:
    """Measure networks in turns, and give their tables: medians of times and of ratios."""
    rows = ["| tensors | n | `Auto`, ms | `LBFGS`, ms | ratio | at most | met |", "|---" * 7 + "|"]
    for tensors, n in SIZES:
        pairs = [per_gradient(tensors, n) for _ in range(effort(n).rounds)]
        ours, theirs = (median(column) for column in zip(*pairs, strict=True))
        ratio = round(median(mine / other for mine, other in pairs), 2)
        numbers = f"{ours:.2f} | {theirs:.2f} | {ratio:.2f} | {AUTO}"
        rows.append(f"| {tensors} | {power(n)} | {numbers} | {'yes' if ratio <= AUTO else 'no'} |")
        print(rows[-1], flush=True)
    head = "".join(f" | {name}" for name in ("tensors", "n", "`Adam`, ms", *IDLE, "at most", "met"))
    rows += ["", f"{head[1:]} |", "|---" * (5 + len(IDLE)) + "|"]
    for tensors, n in SIZES:
        adam, shares = idle(tensors, n)
        met = "yes" if round(shares[0], 2) <= ESCAPE else "no"
        numbers = " | ".join(f"{share:.2f}" for share in shares)
        rows.append(f"| {tensors} | {power(n)} | {adam:.2f} | {numbers} | {ESCAPE} | {met} |")
        print(rows[-1], flush=True)
    return rows
