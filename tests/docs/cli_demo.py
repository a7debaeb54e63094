"""A module for the tests of the command line to name, and how they call it."""

import sys

import pytest

from unsaddle.cli import main

DEMO = """
import numpy as np

constant = 1.0


def f(x):
    return x[0] ** 2 / 2 - x[1] ** 2 / 2 + x[1] ** 4 / 4


def gradient(x):
    return np.array([x[0], x[1] ** 3 - x[1]])


def both(x):
    return f(x), gradient(x)


class TooFarError(ArithmeticError):
    pass


def walled(x):
    if x[0] < -0.5:
        raise TooFarError("behind the wall")
    return 2 * x[0] ** 2 + f(x), gradient(x) + np.array([4 * x[0], 0])


def broken(x):
    raise ValueError("the user's mistake")


def stopping(x):
    raise StopIteration


def short(x):
    return x[:1]


def infinite(x):
    return np.inf


def interrupted(x):
    if abs(x[0]) < 0.5:
        raise KeyboardInterrupt
    return gradient(x)


def bowl(x):
    return float(x @ x) / 2


def bowl_gradient(x):
    return x
"""
CONSTANTS = ["--smoothness", "5.75", "--hessian-lipschitz", "9"]
START = ["--x0", "1,0", *CONSTANTS]


@pytest.fixture(autouse=True)
def demo(tmp_path, monkeypatch):
    """Make the demo's folder the current one, and forget the module afterwards."""
    (tmp_path / "demo_for_cli.py").write_text(DEMO)
    (tmp_path / "needy-for-cli.py").write_text("import absent_for_cli")
    (tmp_path / "broken-for-cli.py").write_text("raise ValueError('on import')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("demo_for_cli", None)


def words(text):
    return text.replace("demo:", "demo_for_cli:").split()


def run(capsys, *argv):
    code = main(argv)
    return code, *capsys.readouterr()
