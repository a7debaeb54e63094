"""What a run shows while it goes on: the line, the logger, the callback; and its time."""

import io
import logging
import sys
import time
import types
from typing import Any

import numpy as np
import pytest

from tests.watched import START, gradient, value
from unsaddle import Outcome, certify, minimize
from unsaddle.core.events import doing
from unsaddle.core.phases import PROOF, PhaseName
from unsaddle.numpy import bounded, loop, progress
from unsaddle.numpy.plot import plot

KINDS = ["search", "curvature", "jump", "search", "end"]


class Stream(io.StringIO):
    """A terminal, or a file."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def solve(**given: Any) -> Any:
    return minimize(value, **{"x0": START, "jac": gradient, **given})


@pytest.fixture
def every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the line due at every query."""
    monkeypatch.setattr(progress, "TUNING", progress.Tuning(redraw=0.0, share=np.inf, repeat=0.0))


def test_nothing_is_printed_unless_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve().success
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("every_time")
def test_a_terminal_has_one_line_that_is_erased_at_the_end(monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    stream = Stream(terminal=True)
    result = solve(disp=stream)
    first, *lines, last = stream.getvalue().split(progress.ERASE)
    assert (first, last) == ("", "")
    assert len(lines) > result.njev
    assert "\n" not in stream.getvalue()
    assert lines[0] == "1 gradient, 0 s, f 0.5, |g| 1, descending"
    assert any("searching for negative curvature at point 1" in line for line in lines)
    assert any(
        "searching for negative curvature at point 2, 100 % proven" in line for line in lines
    )


@pytest.mark.usefixtures("every_time")
def test_a_narrow_terminal_has_a_short_line(monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream = Stream(terminal=True)
    solve(disp=stream)
    lines = stream.getvalue().split(progress.ERASE)
    assert max(map(len, lines)) < 60
    assert any("searching 1" in line for line in lines)


def test_no_word_is_cut_where_eighty_columns_will_do() -> None:
    line = "1,446 gradients, 12 s, f 3.60124e-12, |g| 6.1e-06, "
    searching = "searching for negative curvature at point 12, 10 % proven"
    assert progress.fitted(line + searching, 120) == line + searching
    assert progress.fitted(line + searching, 90).endswith("searching at point 12, 10 % proven")
    assert progress.fitted(line + searching, 79).endswith("searching 12, 10 % proven")
    assert progress.fitted(line + searching, 68).endswith("searching 12, 10 %")


def test_a_slow_terminal_is_written_to_less_often(monkeypatch: Any) -> None:
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])

    class Slow(Stream):
        def write(self, text: str) -> int:
            now[0] += 2.0
            return super().write(text)

    clock = progress.Clock(np.inf, progress.Progress(Slow(terminal=True)))
    monkeypatch.setattr(progress, "status", lambda run, seconds: "")
    clock.tick(None)
    assert clock.due == 2.0 / progress.TUNING.share


def test_elsewhere_events_are_lines() -> None:
    stream = Stream(terminal=False)
    solve(disp=stream)
    assert [line.split()[0] for line in stream.getvalue().splitlines()] == ["1", *KINDS[:-1]]


def test_disp_writes_how_it_ended_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    result = solve(disp=True)
    assert capsys.readouterr().out.splitlines()[-1] == result.message


def test_a_notebook_has_one_line_in_its_page(monkeypatch: Any) -> None:
    shown: list[str] = []
    handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    shell = types.SimpleNamespace(kernel=True)
    module: Any = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    module.display = types.ModuleType("IPython.display")
    module.display.display = lambda data, raw, display_id: handle
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    result = solve(disp=True)
    assert shown[0].startswith("1 gradient, 0 s")
    assert shown[-1] == result.message


@pytest.mark.usefixtures("every_time")
@pytest.mark.parametrize("error", [OSError, ValueError, BrokenPipeError])
def test_a_terminal_that_is_gone_loses_nothing(error: type[Exception]) -> None:
    class Gone(Stream):
        def write(self, text: str) -> int:
            raise error("gone")

    assert solve(disp=Gone(terminal=True)).success


@pytest.mark.usefixtures("every_time")
def test_the_line_is_erased_where_the_function_fails() -> None:
    stream, calls = Stream(terminal=True), iter(range(99))

    def failing(x: np.ndarray) -> np.ndarray:
        if next(calls) == 3:
            raise RuntimeError("failed")
        return gradient(x)

    with pytest.raises(RuntimeError, match="failed"):
        solve(jac=failing, disp=stream)
    assert stream.getvalue().endswith(progress.ERASE)


def test_every_event_is_a_line_of_the_logger_and_in_the_history(caplog: Any) -> None:
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        result = solve()
    events = result.history.events
    assert [event.text for event in events] == [record.getMessage() for record in caplog.records]
    assert [event.kind for event in events] == KINDS
    assert events[1].curvature == pytest.approx(-1, abs=1e-6)
    assert events[2].value < events[1].value
    assert events[-1].text.startswith(
        f"certified after {result.njev} gradients: no curvature below "
    )
    queries = [event.query for event in events]
    assert queries == sorted(queries)


def test_certify_logs_what_it_has_shown(caplog: Any) -> None:
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        shown = certify(gradient, [0.0, 0.0])
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["search 1", f"negative_curvature: {shown}"]


def test_a_run_without_jac_says_what_a_gradient_costs(caplog: Any) -> None:
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        solve(jac=None)
    assert caplog.records[0].getMessage().startswith("jac is not given: every gradient takes 4 val")


@pytest.mark.parametrize("bounds", [None, [(-9, 9)] * 2])
def test_the_callback_is_told_what_goes_on(bounds: Any) -> None:
    seen: list[Any] = []
    solve(callback=lambda intermediate_result: seen.append(intermediate_result), bounds=bounds)
    assert seen[0].gradient_norm == 1
    assert seen[0].phase == "descending"
    assert "searching for negative curvature at point 1" in {each.phase for each in seen}
    curvatures = np.array([each.curvature for each in seen])
    assert np.nanmin(curvatures) == pytest.approx(-1, abs=1e-6)
    assert all(np.isnan(each.curvature) for each in seen if each.phase == "descending")
    assert seen[-1].curvature == pytest.approx(1, abs=1e-3)


def test_every_phase_has_its_words() -> None:
    codes = [code for code in PhaseName if code >= 0]
    for code in [*codes, *(code + PROOF for code in codes if code >= PhaseName.BEGIN)]:
        assert doing(code, 1).split()[0] in ("descending", "searching", "jumping", "proving")


@pytest.mark.parametrize("bounds", [None, [(-9, 9)] * 2])
def test_max_seconds_ends_a_run_and_it_can_be_resumed(bounds: Any, monkeypatch: Any) -> None:
    ticks = iter(range(10**6))
    for module in ("progress", "loop", "bounded", "minimize"):
        monkeypatch.setattr(f"unsaddle.numpy.{module}.monotonic", lambda: next(ticks))
    cut = solve(max_seconds=8, bounds=bounds)
    assert cut.outcome is Outcome.BUDGET
    assert "max_seconds" in cut.message
    monkeypatch.undo()
    assert solve(state=cut.state, bounds=bounds).success


def test_no_time_at_all_gives_the_start() -> None:
    result = solve(max_seconds=0)
    assert result.outcome is Outcome.BUDGET
    assert result.njev <= 1
    assert np.array_equal(result.x, START)


@pytest.mark.parametrize("given", [{}, {"bounds": [(-9, 9)] * 2}, {"starts": 2}, {"x_scale": 2}])
def test_without_a_history_the_run_is_the_same(given: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(loop, "TUNING", loop.Tuning(lap=4, first=2, last=3))
    monkeypatch.setattr(bounded, "LOOP", loop.TUNING)
    whole, result = solve(**given), solve(history=False, **given)
    assert np.array_equal(result.x, whole.x)
    assert result.message == whole.message
    assert [len(part) for part in result.history[:3]] == [0, 0, 0]
    assert result.history.path is None
    assert result.history.events == whole.history.events[-len(result.history.events) :]
    assert len(result.history.events) <= 3 + 5
    assert len(result._repr_html_()) < 3000
    with pytest.raises(ValueError, match="history=True"):
        plot(result)


def test_what_is_kept_without_a_history_does_not_grow(monkeypatch: Any) -> None:
    kept, forget = [], loop.Run.forget

    def watched(run: Any) -> None:
        forget(run)
        kept.append((run.iterations, len(run.codes), len(run.norms), len(run.values)))

    monkeypatch.setattr(loop.Run, "forget", watched)
    known = {"smoothness": 1e4, "hessian_lipschitz": 1.0}
    result = solve(method="pgd+nc", max_gradients=4000, history=False, **known)
    assert [it[0] for it in kept] == [1024, 2048, 3072]
    assert {it[1:] for it in kept} == {(loop.TUNING.first + 1,) * 3}
    assert result.history.events[-1].query >= 4000


def test_several_starts_share_the_time() -> None:
    began = time.monotonic()
    result = solve(starts=3, max_seconds=0)
    assert [run.outcome for run in result.runs] == [Outcome.BUDGET] * 3
    assert time.monotonic() >= began
