"""``unsaddle reproduce`` on the terminal."""

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from unsaddle.methods import checks
from unsaddle.paper import pipeline


def run(names: list[str], output: str, seed: int, again: bool, scheduler: str | None = None) -> int:
    """Run the jobs with a progress bar and the time left, or where none can be a line per part."""
    checks.whole("seed", seed, most=2**31 - 1)
    todo = pipeline.chosen(names)
    console = Console(file=sys.stderr)
    columns = (
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    try:
        with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
            weight = sum(pipeline.JOBS[name].seconds for name in todo)
            parts = progress.add_task(f"0 of {len(todo)} parts", total=weight)
            shares: dict[str, float] = {}

            def told(name: str, share: float) -> None:
                news = share == 1 and shares.get(name) != 1
                shares[name] = share
                under_way = [each for each, part in shares.items() if part < 1]
                words = f"{len(shares) - len(under_way)} of {len(todo)} parts"
                seconds = sum(pipeline.JOBS[each].seconds * part for each, part in shares.items())
                progress.update(parts, completed=seconds,
                                description=" ".join([words, *under_way]))  # fmt: skip
                if news and progress.disable:
                    print(f"{words}: {name}", file=sys.stderr, flush=True)

            page = pipeline.reproduce(names, Path(output), seed, again, told, scheduler)
    except KeyboardInterrupt:
        print("unsaddle: interrupted; type the same again to go on from what is finished",
              file=sys.stderr)  # fmt: skip
        return 130
    print(f"report: {page}\nclaims: {page.with_name('claims.json')}")
    return 0
