"""JAX over two, four and eight devices, and over two processes: no vector is gathered."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import orphans
from unsaddle import METHODS
from unsaddle.methods.table import STOCHASTIC

pytest.importorskip("jax")
ROOT = Path(__file__).parents[2]
FAR = {"cdhs": 1e-8}  # of x, to which a jump along a difference has led, as on ranks of torch


def run(task, devices=8, processes=1, patience=300):
    """Run a task in processes of its own; none is left."""
    flags = f"--xla_force_host_platform_device_count={devices // processes}"
    local = {**os.environ, "XLA_FLAGS": flags, "OMP_NUM_THREADS": "1"}
    shared: list = []
    if processes > 1:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        shared = [[str(port), str(processes), str(own)] for own in range(processes)]
    words = [sys.executable, "-m", "tests.jax.on_devices", task]
    with orphans.held() as stdin:
        own = {"cwd": ROOT, "env": local, "stdin": stdin, "start_new_session": True}
        started = [
            subprocess.Popen([*words, *more], stdout=subprocess.PIPE, text=True, **own)
            for more in shared or [[]]
        ]
        try:
            told = [each.communicate(timeout=patience)[0] for each in started]
        finally:
            for each in started:
                each.kill()
                each.wait()
    assert [each.returncode for each in started] == [0] * processes
    return [json.loads(out.splitlines()[-1]) for out in told]


def same(found, far=1e-10):
    """On one device and on all of them."""
    assert len({*found["outcomes"]}) == len({*found["holds"]}) == len({*found["gradients"]}) == 1
    assert found["apart"] < far
    assert found["kept"]
    assert found.get("gathers", []) == []


def certified(found):
    same(found)
    assert found["outcomes"] == ["CERTIFIED"] * 2


def left_its_saddle(stepped):
    assert stepped["gathers"] == stepped["whole"] == []
    assert stepped["methods"]["escape"]["away"] > 0.5
    for name, each in stepped["methods"].items():
        one, other = each["ends"]
        assert one == other, name
        assert each["apart"] < 1e-10, name
        assert each["kept"], name
        assert each["away"] > 0, name


def one_by_one(many):
    one, other = many["status"]
    assert one == other
    assert many["apart"] < 1e-10


@pytest.mark.slow
def test_operations_over_eight_devices_gather_no_vector():
    (found,) = run("operations")
    found = found["operations"]
    assert found["apart"] < 1e-12
    assert found["noise apart"] < 1e-14
    assert found["kept"]
    assert found["gathers"] == []
    assert len(found["whole"]) == 1  # the leaf that every device has
    assert [[what for what, _ in each] for each in found["seen"]] == [
        ["all-gather"],
        ["all-reduce"],
    ]


@pytest.mark.slow
def test_processes_that_ask_for_different_runs_are_told_so():
    one, other = run("disagreeing", devices=2, processes=2)
    assert one["disagreeing"] == other["disagreeing"]
    said = one["disagreeing"]
    assert said.pop("none") == "no error"
    words = {
        "seed": "seed must be the same on every process, got 0 on process 0; 1 on process 1: every",
        "tol": "settings must be the same on every process, got tolerance=0.01",
        "max_gradients": "max_gradients must be the same on every process, got 20 on process 0; 21",
        "method": "method must be the same on every process, got pgd on process 0; pgd+nc on",
        "seeds": "seeds must be the same on every process, got [0, 0] on process 0; [1, 1] on",
        "certify": "settings must be the same on every process, got",
        "optax": "seed must be the same on every process, got 0 on process 0; 1 on process 1",
    }
    assert said.keys() == words.keys()
    for name, start in words.items():
        assert said[name].startswith(f"ValueError: {start}"), said[name]


@pytest.mark.nightly
def test_two_four_and_eight_devices_are_one_and_gather_no_vector():
    (found,) = run("cheapest,stepped", patience=1500)
    assert len(found["cheapest"]) == 3
    for each in found["cheapest"]:
        certified(each)
    left_its_saddle(found["stepped"])


@pytest.mark.nightly
@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_two_four_and_eight_devices(method):
    (found,) = run(task := f"one_method:{method}", patience=1500)
    assert len(found[task]) == 3
    for each in found[task]:
        same(each, FAR.get(method, 1e-10))


@pytest.mark.nightly
@pytest.mark.parametrize("method", [*METHODS, *STOCHASTIC])
def test_a_step_of_every_method_of_optax_gathers_no_vector(method):
    (found,) = run(task := f"transformed:{method}", patience=1500)
    assert found[task] == {"gathers": [], "kept": True, "whole": []}


@pytest.mark.nightly
def test_starts_over_eight_devices_are_those_of_one():
    (found,) = run("many", patience=1500)
    one_by_one(found["many"])


@pytest.mark.nightly
def test_two_processes_with_four_devices_each():
    for found in run("cheapest,called,many,stepped", processes=2, patience=1800):
        certified(*found["cheapest"])
        certified(found["called"])
        one_by_one(found["many"])
        left_its_saddle(found["stepped"])
