"""Starts on engines of others: pools, Dask and MPI give the same bytes as one process."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.numpy.test_workers import bytes_of, slope, solved, wells
from unsaddle import minimize

ROOT = Path(__file__).parents[2]
LOCAL = {
    "threads_per_worker": 1,
    "dashboard_address": "127.0.0.1:0",
    "host": "127.0.0.1",
    "protocol": "tcp",
}
ON_MPI = """
from mpi4py.futures import MPIPoolExecutor
from tests.numpy.test_workers import bytes_of, solved

if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        assert pool.num_workers == 2
        assert bytes_of(solved(pool.map)) == bytes_of(solved(1))
    print("the same")
"""


def deadly_once(x: np.ndarray) -> np.ndarray:
    """Kill the first process that comes to the sixth gradient of a start, in the middle of it."""
    called, killed = (Path(os.environ["UNSADDLE_CALLED"]) / name for name in ("called", "killed"))
    with called.open("a") as calls:
        calls.write(".")
    if called.stat().st_size > 5 and not killed.exists():
        killed.touch()
        os.kill(os.getpid(), 9)
    return slope(x)


@pytest.mark.slow
@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_pools_of_concurrent_futures(pool) -> None:
    with pool(2) as own:
        assert bytes_of(solved(own.map)) == bytes_of(solved(1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_dask_cluster() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, processes=False, **LOCAL) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert bytes_of(solved(client.get_executor().map)) == bytes_of(solved(1))


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_a_worker_of_dask_that_dies_is_replaced(tmp_path, monkeypatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("UNSADDLE_CALLED", str(tmp_path))
    with (
        distributed.LocalCluster(n_workers=2, **LOCAL) as cluster,
        distributed.Client(cluster) as client,
    ):
        before = {*client.run(os.getpid).values()}
        there = solved(client.get_executor().map, jac=deadly_once)
        client.wait_for_workers(2, timeout=60)
        assert (tmp_path / "killed").exists()
        assert {*client.run(os.getpid).values()} != before
    assert bytes_of(there) == bytes_of(minimize(wells, 2 * np.arange(4.0), jac=slope, starts=6))


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("mpi4py"), reason="needs mpi4py: pip install mpi4py")
@pytest.mark.skipif(not shutil.which("mpiexec"), reason="needs mpiexec: apt install openmpi-bin")
def test_mpi(tmp_path) -> None:
    script = tmp_path / "on_mpi.py"
    script.write_text(ON_MPI)
    words = ["mpiexec", "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)]
    own = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    own |= {"OMPI_MCA_rmaps_base_oversubscribe": "1"}  # more processes than cores
    own |= {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # likewise, from 5 on
    paths = os.pathsep.join([str(ROOT), *sys.path])
    ran = subprocess.run(
        words, env={**os.environ, **own, "PYTHONPATH": paths}, text=True, timeout=120,
        capture_output=True,
    )  # fmt: skip
    assert ran.stdout == "the same\n", ran.stderr
