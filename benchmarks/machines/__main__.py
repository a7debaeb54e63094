"""Measure what several processes send, keep and take, and write the tables of docs/machines.md.

    python -m benchmarks.machines                 all, into benchmarks/results/machines.json
    python -m benchmarks.machines speed            one of traffic, memory, links, speed
    python -m benchmarks.machines --page          the tables, from the results

Processes talk over loopback. Time wants an idle machine; the rest does not depend on it.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from math import log2
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "machines.json", ROOT / "docs" / "machines.md"
RANKS = {"traffic": (2,), "memory": (1, 2, 4, 8), "links": (2, 4, 8), "speed": (2,)}
PATIENCE = 1200  # seconds of one measurement
SIZES, MANY = (9, 10, 11, 12), (2, 3, 4)  # powers of ten: parameters, and ranks, of the model
KEPT_OF = 2**19  # parameters of the model whose memory is measured
FSDP = 3 * 4  # bytes per parameter and query: gathered twice, its gradient scattered once


def measured(task: str, ranks: int) -> Any:
    """Give what so many ranks have found."""
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    words += ["-m", "benchmarks.machines.measure", task]
    with subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as ran:
        try:
            told, _ = ran.communicate(timeout=PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(ran.pid, signal.SIGKILL)  # its ranks too
    if ran.returncode:
        raise SystemExit(f"{task} on {ranks} ranks ended with exit code {ran.returncode}")
    return json.loads(told.splitlines()[-1])


def sent_table(found: dict[str, Any]) -> str:
    """Numbers and calls of a query, and of a search, where every rank has a part."""
    lines = [
        "| method | a query of the descent | of a search | a whole search |",
        "|---|---|---|---|",
    ]
    for name, own in found["2"]["parts"].items():
        cells = [_sent(own.get(kind)) for kind in ("descent", "search")]
        whole = own.get("whole")
        cells.append(
            f"{whole['bytes'] // 8} in {whole['calls']}, {whole['queries']} queries"
            if whole
            else ""
        )
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _sent(own: Any) -> str:
    if own is None:
        return ""
    least, most = own["least"] // 8, own["most"] // 8
    return f"{least if least == most else f'{least} to {most}'} in {own['calls']}"


def memory_table(found: dict[str, Any]) -> str:
    """MiB of a rank."""
    lines = ["| ranks | L-BFGS pairs | Lanczos vectors | all | resident |", "|---|---|---|---|---|"]
    for ranks, own in found.items():
        cells = [f"{own[key]:.1f}" for key in ("pairs", "window", "all", "resident")]
        lines.append(f"| {ranks} | {' | '.join(cells)} |")
    return "\n".join(lines)


def links_table(found: dict[str, Any]) -> str:
    """What a sum over the ranks takes."""
    lines = ["| ranks | a sum of five numbers | a sum of 16 MiB |", "|---|---|---|"]
    for ranks, own in found.items():
        lines.append(
            f"| {ranks} | {1e6 * own['latency']:.0f} us | {own['bandwidth'] / 1e6:.0f} MB/s |"
        )
    return "\n".join(lines)


def per_doubling(links: dict[str, Any]) -> float:
    """Seconds that a sum of few numbers takes for each doubling of the ranks: least squares."""
    pairs = [(log2(int(ranks)), own["latency"]) for ranks, own in links.items()]
    return sum(a * b for a, b in pairs) / sum(a * a for a, _ in pairs)


def model_table(found: dict[str, Any]) -> str:
    """What a query of auto adds to one of FSDP2, and what a rank keeps, with one cell in full."""
    slow = per_doubling(found["links"])
    wide = min(it["bandwidth"] for it in found["links"].values())
    calls = found["traffic"]["2"]["parts"]["auto"]["descent"]["calls"]
    kept = found["memory"]["1"]["all"] * 2**20 / KEPT_OF  # bytes per parameter
    ours = {power: calls * slow * log2(10**power) for power in MANY}
    theirs = {size: FSDP * 10**size / wide for size in SIZES}
    added = " | ".join(f"10^{power} ranks, {1e3 * own:.1f} ms" for power, own in ours.items())
    lines = [f"| parameters | FSDP2 | {added} |", f"|---|---|{'---|' * len(MANY)}"]
    for size, whole in theirs.items():
        cells = [
            f"{100 * ours[power] / whole:.2g} %, {_round(kept * 10.0 ** (size - power - 9))} GB"
            for power in MANY
        ]
        lines.append(f"| 10^{size} | {_round(whole)} s | {' | '.join(cells)} |")
    size, power = SIZES[0], MANY[0]
    own = _round(kept * 10.0 ** (size - power - 9))
    cell = (
        f"The first cell: {calls} calls * {1e6 * slow:.0f} us * log2(10^{power}) = "
        f"{1e3 * ours[power]:.1f} ms; {FSDP} bytes * 10^{size} / {wide / 1e6:.1f} MB/s = "
        f"{theirs[size]:.1f} s, of which that is {100 * ours[power] / theirs[size]:.2g} %; "
        f"{kept:.0f} bytes * 10^{size} / 10^{power} = {own} GB."
    )
    return "\n".join([*lines, "", cell])


def _round(number: float) -> str:
    """Give three digits, without an exponent."""
    return f"{float(f'{number:.3g}'):,.6g}"


def speed_table(found: dict[str, Any]) -> str:
    """How long a step is beside that of the optimiser inside."""
    lines = [
        "| Escape(Adam) over Adam | samples on each rank | time | processor time |",
        "|---|---|---|---|",
    ]
    words = {"copies": "`DistributedDataParallel`", "parts": "FSDP2"}
    lines += [
        f"| {words[kind]} | {batch} | {own['seconds']:.2f} | {own['busy']:.2f} |"
        for kind, each in found["2"].items()
        for batch, own in each.items()
    ]
    return "\n".join(lines)


def tables(found: dict[str, Any]) -> dict[str, str]:
    """Give the tables of the page, by what stands in the comments around them."""
    return {
        "traffic": sent_table(found["traffic"]),
        "memory": memory_table(found["memory"]),
        "links": links_table(found["links"]),
        "model": model_table(found),
        "speed": speed_table(found["speed"]),
    }


def write_page(found: dict[str, Any]) -> None:
    """Put each table between its two comments."""
    text = PAGE.read_text()
    for name, table in tables(found).items():
        own = re.compile(rf"(<!-- {name}:[^\n]*-->\n).*?(<!-- end -->)", re.S)
        text, times = own.subn(lambda m, table=table: f"{m[1]}{table}\n{m[2]}", text)
        assert times == 1, name
    PAGE.write_text(text)


def main() -> None:
    """Measure, keep, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", choices=[*RANKS, []], help="all if none is named")
    parser.add_argument("--page", action="store_true", help="write the tables and measure nothing")
    given = parser.parse_args()
    for task in () if given.page else given.tasks or RANKS:
        own = {str(ranks): measured(task, ranks) for ranks in RANKS[task]}
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps({**known, task: own}, indent=1) + "\n")
    if given.page:
        write_page(json.loads(RESULTS.read_text()))


if __name__ == "__main__":
    main()
