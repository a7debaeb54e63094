"""A Ctrl-C waits until a run's state is whole."""

import signal
import threading
from collections.abc import Callable
from typing import Any


def hold_interrupts_back(run: Any) -> Callable[[], None]:
    """Let a Ctrl-C through in the user's functions only: half an update in place is no state.

    Those are where ``run.interruptible`` is set. One that comes elsewhere waits for the next query,
    as ``run.interrupted`` says. Python handles signals in its main thread.

    Returns:
        What puts the handler back that there was, and lets through what came last.
    """
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if main else None
    if not callable(handler):  # another thread, or not Python's to handle
        return lambda: None

    def hold_back(number: int, frame: Any) -> None:
        run.interrupted = not run.interruptible
        if run.interruptible:
            handler(number, frame)

    def restore() -> None:
        last = signal.signal(signal.SIGINT, handler)
        if last is not hold_back:  # the user's functions have set one of their own
            signal.signal(signal.SIGINT, last)
        if run.interrupted:
            handler(signal.SIGINT, None)

    signal.signal(signal.SIGINT, hold_back)
    return restore
