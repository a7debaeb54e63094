"""Several runs at once: ``workers`` as SciPy has them, in processes that a Ctrl-C reaches."""

import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from unsaddle.methods.checks import shown
from unsaddle.numpy.inputs import count_of

Workers = int | Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
UNSENDABLE = (
    "workers={} sends fun and jac to other processes, which failed: {}; define them by def at the "
    "top of a module, not as a lambda or within a function, or pass a map that takes them as they "
    "are, such as workers=multiprocessing.pool.ThreadPool().map"
)
DIED = "the process of start {} ended with exit code {}: pass workers=1 to see what happens there"


def in_order(
    workers: Workers, work: Callable[[Any], Any], tasks: list[Any]
) -> Iterator[tuple[Any, Any]]:
    """Give every task and work(task), in order; after a Ctrl-C, of those that were begun.

    A Ctrl-C goes on to the processes, whose runs end with the best point so far. A second one does
    not wait for them. Where a process dies another takes its place.

    Yields:
        A task, and what work gave for it: an exception where its process has died.

    Raises:
        TypeError: If a map gives nothing to go through.
    """
    count = count_of(workers)
    if callable(workers):
        ends = workers(work, tasks)
        if not isinstance(ends, Iterable):
            raise TypeError(f"workers must be a map such as pool.map, it returned {shown(ends)}")
        yield from zip(tasks, ends, strict=True)
    elif count == 1:
        yield from ((task, work(task)) for task in tasks)
    else:
        ends = _by_processes(min(count, len(tasks)), work, tasks, workers)
        yield from ((tasks[i], end) for i, end in ends)


def _by_processes(
    count: int, work: Any, tasks: list[Any], workers: Any
) -> Iterator[tuple[int, Any]]:
    """Hand tasks to processes as they become free."""
    try:
        sent = pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(UNSENDABLE.format(workers, error)) from error
    busy: dict[Connection, tuple[Any, int]] = {}  # the process at the other end, and its task
    queue, ends, due = [*enumerate(tasks)][::-1], dict[int, Any](), 0
    try:
        for _ in range(count):
            _begin(sent, busy)
        for free in [*busy]:
            _hand_out(free, busy, queue)
        while due < len(tasks):
            if due not in ends:
                _collect(busy, queue, ends, sent)
            while due in ends:
                yield due, ends.pop(due)
                due += 1
    except KeyboardInterrupt:
        yield from _interrupted(busy, ends)
    finally:
        for process, _ in busy.values():
            process.terminate()


def _begin(sent: bytes, busy: dict[Connection, tuple[Any, int]]) -> Connection:
    """Start a process that has no task yet."""
    near, far = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve, args=(far, sent), daemon=True)
    process.start()
    far.close()
    busy[near] = process, -1
    return near


def _hand_out(free: Connection, busy: dict[Connection, tuple[Any, int]], queue: list[Any]) -> None:
    """Give a process that is free its next task, or let it go."""
    process, _ = busy.pop(free)
    i, task = queue.pop() if queue else (-1, None)
    with suppress(BrokenPipeError):  # it has died: it will not answer
        free.send(task)
    if task is not None:
        busy[free] = process, i


def _collect(
    busy: dict[Connection, tuple[Any, int]], queue: list[Any], ends: dict[int, Any], sent: bytes
) -> None:
    """Wait for processes, take their answers, and hand out what is next."""
    for ready in wait([*busy]):
        process, i = busy[ready]  # type: ignore[index]
        try:
            ends[i] = ready.recv()  # type: ignore[union-attr]
        except (EOFError, ConnectionResetError):
            process.join()
            ends[i] = RuntimeError(DIED.format(i, process.exitcode))
            del busy[ready]  # type: ignore[arg-type]
            if not queue:
                continue
            ready = _begin(sent, busy)
        _hand_out(ready, busy, queue)  # type: ignore[arg-type]


def _interrupted(
    busy: dict[Connection, tuple[Any, int]], ends: dict[int, Any]
) -> Iterator[tuple[int, Any]]:
    """Let the runs that are under way end, and give all that there are."""
    for process, _ in busy.values():
        with suppress(OSError, ValueError):
            os.kill(process.pid, signal.SIGINT)
    with suppress(KeyboardInterrupt):
        while busy:
            _collect(busy, [], ends, b"")
    whole = {i: end for i, end in ends.items() if not isinstance(end, RuntimeError | None)}
    yield from sorted(whole.items())


def _serve(tasks: Connection, sent: bytes) -> None:
    """Work on tasks until there are no more; a Ctrl-C is heard only while at work, if at all."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    at_work = before if before is signal.SIG_IGN else signal.default_int_handler
    work = pickle.loads(sent)
    with suppress(EOFError, BrokenPipeError):
        while (task := tasks.recv()) is not None:
            answer = None
            try:
                signal.signal(signal.SIGINT, at_work)
                answer = work(task)
            except KeyboardInterrupt:
                pass
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            tasks.send(answer)
