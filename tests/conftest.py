"""What all tests share: markers, packages that may be missing, and hypothesis's profiles.

A test is marked ``torch``, ``jax`` or ``browser`` by itself if its folder, a word of its file's
name, or one of its parameters says so (``tests/jax/``, ``test_browser.py``, ``[torch]``); any other
test that needs one says so with ``@pytest.mark.torch`` and the like. It is skipped where that is
missing.
"""

import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
EXTRAS = {"torch": ("torch",), "jax": ("jax", "optax"), "browser": ("chromium",)}
MARKER_OF = {name: extra for extra, names in EXTRAS.items() for name in (extra, *names)}
INSTALL = {
    "torch": "pip install 'unsaddle[torch]'",
    "jax": "pip install 'unsaddle[jax]'",
    "browser": "apt-get install chromium",
}

TIMELESS: Any = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
os.environ.setdefault("OMP_NUM_THREADS", "1")  # more threads wait for one another
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # most of the time goes to compiling
PASSES = (  # of XLA, which repeats them twenty times over for loops as those of a run
    "reshape-mover,simplify-while-loops,while-loop-invariant-code-motion,while-loop-constant-sinking"
)
os.environ.setdefault(
    "XLA_FLAGS", f"--xla_cpu_use_fusion_emitters=false --xla_disable_hlo_passes={PASSES}"
)

settings.register_profile("ordinary", derandomize=True, **TIMELESS)
settings.register_profile("random", derandomize=False, print_blob=True, **TIMELESS)
settings.load_profile("ordinary")  # --hypothesis-profile=random, as of make nightly, comes later


class Absent:
    """Finds neither torch nor JAX nor optax."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in (*EXTRAS["torch"], *EXTRAS["jax"]):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide() -> None:
    """Make torch, JAX and optax as good as not installed."""
    sys.meta_path.insert(0, Absent())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bare", action="store_true", help="as if torch and JAX were not installed")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("bare"):
        hide()


def missing(extra: str) -> str | None:
    """Say what to install for the tests of a marker; nothing if it is there."""
    for name in EXTRAS[extra]:
        try:
            there = shutil.which(name) if extra == "browser" else importlib.util.find_spec(name)
        except ModuleNotFoundError:
            there = None
        if not there:
            return f"no {name} here: type {INSTALL[extra]} to run this test"
    return None


def named(path: Path) -> set[str]:
    """Give the markers that a file of tests has by its folder and name."""
    inside = path.relative_to(TESTS)
    words = {*inside.parts[:-1], *inside.stem.split("_")}
    return {MARKER_OF[word] for word in words & {*MARKER_OF}}


class Skipped(pytest.Module):
    """A file that needs a package that is missing, and might fail if it were imported."""

    def collect(self) -> Any:
        reasons = [missing(extra) for extra in sorted(named(self.path))]
        pytest.skip(next(filter(None, reasons)), allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> pytest.Module | None:
    if any(missing(extra) for extra in named(module_path) - {"browser"}):
        return Skipped.from_parent(parent, path=module_path)
    return None


def pytest_itemcollected(item: pytest.Item) -> None:
    callspec: Any = getattr(item, "callspec", None)
    values = callspec.params.values() if callspec else ()
    words = {getattr(value, "stem", value) for value in values if isinstance(value, str | Path)}
    for extra in {MARKER_OF[word] for word in words & {*MARKER_OF}} | named(item.path):
        item.add_marker(extra)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers():
        if marker.name in EXTRAS and (reason := missing(marker.name)):
            pytest.skip(reason)


@pytest.fixture(autouse=True)
def precision_as_before() -> Iterator[None]:
    """Undo a test's choice of JAX's precision, which would be that of all tests after it."""
    double = "jax" in sys.modules and sys.modules["jax"].config.jax_enable_x64
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_enable_x64", double)


@pytest.fixture
def handled() -> Iterator[None]:
    """SIGINT is Python's to handle, also where the tests are run with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A test that was skipped for want of torch or JAX, but is not marked, would never be run."""
    report = yield
    lacking = [name for name in (*EXTRAS["torch"], *EXTRAS["jax"]) if needs(report, name)]
    if item.config.getoption("bare") and lacking and not {*EXTRAS} & {*item.keywords}:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} needs @pytest.mark.{MARKER_OF[lacking[0]]}"
    return report


def needs(report: Any, name: str) -> bool:
    """Say whether a test was skipped because this package could not be imported."""
    return report.skipped and f"could not import '{name}" in str(report.longrepr)
