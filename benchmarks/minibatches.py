"""Escape around Adam and SGD on minibatches, with default settings: four saddles, three tasks.

From a saddle the question is whether it is left: the final loss over all data is compared with that
of the inner optimiser alone, which stays. From an ordinary start the question is whether anything
is lost: the mean final loss is compared with that of the inner optimiser alone, and with its spread
from seed to seed. Prints two tables in Markdown.

    python -m benchmarks.minibatches --seeds 5
    python -m benchmarks.minibatches --seeds 10 --first 100    # the seeds 100 to 109
"""

import argparse
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from unsaddle.torch import Escape

BATCH = 64
STEPS = 1_000
EVERY = 10  # steps, between two looks at the loss over all data
LEFT = 0.9  # of the loss at which the inner optimiser alone has stayed
HIDDEN = 16
INNER: Mapping[str, Callable[..., torch.optim.Optimizer]] = {
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=3e-3),
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
}


class Task(NamedTuple):
    """A model at its start, data, and a loss."""

    model: nn.Module
    inputs: torch.Tensor
    targets: torch.Tensor
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Factors(nn.Module):
    """The rows of U V^T that are asked for."""

    def __init__(self, rows: int, columns: int, rank: int) -> None:
        """Begin at zero."""
        super().__init__()
        self.u = nn.Parameter(torch.zeros(rows, rank))
        self.v = nn.Parameter(torch.zeros(columns, rank))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Give these rows."""
        return self.u[rows] @ self.v.T


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Give scikit-learn's digits, pixels in [0, 1]; Gaussian clusters of that shape without it."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        rng = np.random.default_rng(0)
        labels = np.arange(1_800) % 10
        pixels = rng.standard_normal((10, 64))[labels] + 0.7 * rng.standard_normal((1_800, 64))
        return torch.tensor(pixels / 4, dtype=torch.float32), torch.tensor(labels)
    pixels, labels = load_digits(return_X_y=True)
    return torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(labels)


def classifier() -> Task:
    """Digits and a network with one hidden layer."""
    pixels, labels = digits()
    model = nn.Sequential(nn.Linear(64, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 10))
    return Task(model, pixels, labels, nn.functional.cross_entropy)


def autoencoder() -> Task:
    """Digits and a network that has to reproduce them from eight numbers."""
    pixels, _ = digits()
    pixels = pixels - pixels.mean(dim=0)
    model = nn.Sequential(nn.Linear(64, 8), nn.Tanh(), nn.Linear(8, 64))
    return Task(model, pixels, pixels, nn.functional.mse_loss)


def regression() -> Task:
    """A smooth function of five variables with noise of a tenth, and two hidden layers."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (2_000, 5))
    y = np.sin(3 * x[:, 0] * x[:, 1]) + x[:, 2] ** 2 + 0.5 * x[:, 3]
    y += 0.1 * rng.standard_normal(len(y))
    model = nn.Sequential(
        nn.Linear(5, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1)
    )
    inputs, targets = (torch.tensor(a, dtype=torch.float32) for a in (x, y[:, None]))
    return Task(model, inputs, targets, nn.functional.mse_loss)


def factorisation() -> Task:
    """A matrix of rank three with noise of a tenth, by rows, and factors of rank five at zero."""
    rng = np.random.default_rng(0)
    m = rng.standard_normal((256, 3)) @ rng.standard_normal((3, 32))
    m += 0.1 * rng.standard_normal(m.shape)
    matrix = torch.tensor(m, dtype=torch.float32)
    return Task(Factors(256, 32, 5), torch.arange(256), matrix, nn.functional.mse_loss)


@torch.no_grad()
def at_zero(task: Task) -> Task:
    """Set all parameters to zero."""
    for p in task.model.parameters():
        p.zero_()
    return task


@torch.no_grad()
def equal_units(task: Task) -> Task:
    """Make all hidden units the same."""
    first, _, last = task.model.children()
    assert isinstance(first, nn.Linear)
    assert isinstance(last, nn.Linear)
    first.weight.copy_(first.weight[:1].expand_as(first.weight))
    first.bias.copy_(first.bias[:1].expand_as(first.bias))
    last.weight.copy_(last.weight[:, :1].expand_as(last.weight))
    return task


SADDLES: Mapping[str, Callable[[], Task]] = {
    "MLP zero": lambda: at_zero(classifier()),
    "MLP equal units": lambda: equal_units(classifier()),
    "autoencoder zero": lambda: at_zero(autoencoder()),
    "factorisation zero": factorisation,
}
ORDINARY: Mapping[str, Callable[[], Task]] = {
    "MLP": classifier,
    "autoencoder": autoencoder,
    "regression": regression,
}


class Events(logging.Handler):
    """Counts what Escape logs."""

    def __init__(self) -> None:
        """Begin at nothing."""
        super().__init__(logging.INFO)
        self.words: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first word: search, jump, certified, stay."""
        self.words.append(record.getMessage().split()[0])


class Trained(NamedTuple):
    """What came of one training."""

    loss: float  # over all data
    searches: int
    jumps: int
    gradients: int  # of minibatches, those of searches among them
    losses: list[float]  # over all data, after every EVERY steps

    def below(self, loss: float) -> int | None:
        """Say after how many steps the loss was first seen below this."""
        return next((EVERY * (i + 1) for i, it in enumerate(self.losses) if it < loss), None)


def train(make: Callable[[], Task], inner: str, escape: bool, seed: int, steps: int) -> Trained:
    """Train from one start; batches and start are functions of the seed."""
    torch.manual_seed(seed)
    task, calls, losses = make(), 0, list[float]()
    optimizer: Any = INNER[inner](task.model.parameters())
    if escape:
        optimizer = Escape(optimizer, seed=seed)
    draw = torch.Generator().manual_seed(seed)
    events, log = Events(), logging.getLogger("unsaddle")
    log.setLevel(logging.INFO)
    log.addHandler(events)

    def closure_on(rows: torch.Tensor) -> Callable[[], torch.Tensor]:
        def closure() -> torch.Tensor:
            nonlocal calls
            calls += 1
            optimizer.zero_grad()
            loss = task.loss(task.model(task.inputs[rows]), task.targets[rows])
            loss.backward()
            return loss

        return closure

    try:
        for step in range(1, steps + 1):
            rows = torch.randint(len(task.inputs), (BATCH,), generator=draw)
            optimizer.step(closure_on(rows))
            losses += [over_all_data(task, optimizer)] if step % EVERY == 0 else []
    finally:
        log.removeHandler(events)
    count = events.words.count
    end = over_all_data(task, optimizer)
    return Trained(end, count("search"), count("jump"), calls, losses)


@torch.no_grad()
def over_all_data(task: Task, optimizer: torch.optim.Optimizer) -> float:
    """Give the loss at the iterate over all data."""

    def loss() -> float:
        return float(task.loss(task.model(task.inputs), task.targets))

    if not isinstance(optimizer, Escape):
        return loss()
    with optimizer.iterate():
        return loss()


def pairs(
    starts: Mapping[str, Callable[[], Task]], seeds: Sequence[int], steps: int
) -> Iterator[tuple[str, str, list[Trained], list[Trained]]]:
    """Train everything with and without the escape, from the same starts on the same batches."""
    for name, make in starts.items():
        for inner in INNER:
            alone, with_it = (
                [train(make, inner, escape, seed, steps) for seed in seeds]
                for escape in (False, True)
            )
            yield name, inner, alone, with_it


def mean(values: Iterator[float]) -> float:
    """Give the mean."""
    return float(np.mean(list(values)))


def spread(trained: list[Trained]) -> float:
    """Give the standard deviation of the loss from seed to seed."""
    return float(np.std([t.loss for t in trained], ddof=1)) if len(trained) > 1 else math.nan


def counts(trained: list[Trained]) -> str:
    """Write what a training with the escape has done, as cells of a table."""
    searches, jumps, gradients = (
        mean(getattr(t, word) for t in trained) for word in ("searches", "jumps", "gradients")
    )
    return f"{searches:.1f} | {jumps:.1f} | {gradients:,.0f}"


def from_saddles(seeds: Sequence[int], steps: int) -> Iterator[str]:
    """Write the table of saddles."""
    yield (
        "| saddle | inner | loss alone | with Escape | searches | jumps | gradients "
        "| left | after steps |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, inner, alone, with_it in pairs(SADDLES, seeds, steps):
        both = list(zip(alone, with_it, strict=True))
        left = [e.below(LEFT * a.loss) or steps for a, e in both if e.loss < LEFT * a.loss]
        after = f"{np.median(left):.0f}, at most {max(left)}" if left else "-"
        yield (
            f"| {name} | {inner} | {mean(t.loss for t in alone):.4g} "
            f"| {mean(t.loss for t in with_it):.4g} | {counts(with_it)} "
            f"| {len(left)}/{len(seeds)} | {after} |"
        )


def from_ordinary_starts(seeds: Sequence[int], steps: int) -> Iterator[str]:
    """Write the table of ordinary tasks."""
    yield (
        "| task | inner | loss alone | spread | with Escape | searches | jumps | gradients "
        "| within the spread |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, inner, alone, with_it in pairs(ORDINARY, seeds, steps):
        before, after = (mean(t.loss for t in trained) for trained in (alone, with_it))
        within = "yes" if after <= before + spread(alone) else "no"
        yield (
            f"| {name} | {inner} | {before:.4g} | {spread(alone):.2g} | {after:.4g} "
            f"| {counts(with_it)} | {within} |"
        )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Escape on minibatches.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--steps", type=int, default=STEPS)
    given: Any = parser.parse_args()
    torch.set_num_threads(1)
    for table in (from_saddles, from_ordinary_starts):
        for line in table(range(given.first, given.first + given.seeds), given.steps):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
