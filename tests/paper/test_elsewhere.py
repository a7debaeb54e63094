"""Jobs on a Dask cluster: the same bytes as alone, also where a worker dies."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

distributed = pytest.importorskip("distributed")

from unsaddle.cli import main  # noqa: E402
from unsaddle.paper import elsewhere, pipeline  # noqa: E402

pytest.importorskip("matplotlib")
LOCAL = {
    "threads_per_worker": 1,
    "dashboard_address": "127.0.0.1:0",
    "host": "127.0.0.1",
    "protocol": "tcp",
}


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """One job, in a moment: dask's workers that are threads see it too."""

    def job(folder, seed, told):
        (folder / "short.csv").write_text(f"seed\n{seed}\n")
        (folder / "short.png").write_bytes(bytes(range(256)))
        return {"title": "Short", "text": "", "claims": [], "pictures": [], "tables": []}

    monkeypatch.setitem(pipeline.JOBS, "short", pipeline.Planned(job, 1.0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_cluster_writes_the_same_bytes_as_one_process(tmp_path, capsys):
    here, there = tmp_path / "here", tmp_path / "there"
    pipeline.reproduce(["short"], here, 3, False)
    with distributed.LocalCluster(n_workers=2, processes=False, **LOCAL) as cluster:
        words = ["--output", str(there), "--seed", "3", "--scheduler", cluster.scheduler_address]
        assert main(["reproduce", "short", *words]) == 0
    assert files(here) == files(there)
    assert {"data/short.csv", "figures/short.png", "results/short.json"} < {*files(there)}


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_dies_is_replaced_and_nothing_is_lost(tmp_path, capsys):
    """Two real jobs by the command; the first worker that has one is killed in the middle."""
    names, here, there = ["radius", "stability"], tmp_path / "here", tmp_path / "there"
    pipeline.reproduce(names, here, 0, False)
    with (
        distributed.LocalCluster(n_workers=2, **LOCAL) as cluster,
        distributed.Client(cluster) as client,
        ThreadPoolExecutor(1) as aside,
    ):
        killed = aside.submit(kill_the_first_at_work, client)
        words = ["--output", str(there), "--scheduler", cluster.scheduler_address]
        assert main(["reproduce", *names, *words]) == 0
        client.wait_for_workers(2, timeout=60)
        assert killed.result() not in client.run(os.getpid).values()
    assert files(here) == files(there)
    assert {f"results/{name}.json" for name in names} < {*files(there)}


def kill_the_first_at_work(client):
    """Give the process that was killed, a second after it had a job."""
    pids = client.run(os.getpid)
    for _ in range(600):
        busy = [address for address, keys in client.processing().items() if keys]
        if busy:
            time.sleep(1.0)
            assert client.processing()[busy[0]]  # its job is not done
            os.kill(pids[busy[0]], 9)
            return pids[busy[0]]
        time.sleep(0.1)
    raise AssertionError("no worker had a job")


def test_a_scheduler_that_does_not_answer_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(elsewhere, "PATIENCE", 0.3)
    words = ["--output", str(tmp_path), "--scheduler", "tcp://127.0.0.1:9"]
    assert main(["reproduce", "short", *words]) == 2
    assert "scheduler 'tcp://127.0.0.1:9' does not answer" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_scheduler_without_workers_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(elsewhere, "PATIENCE", 1.0)
    with distributed.LocalCluster(n_workers=0, processes=False, **LOCAL) as cluster:
        address = cluster.scheduler_address
        words = ["--output", str(tmp_path), "--scheduler", address]
        assert main(["reproduce", "short", *words]) == 2
    said = f"scheduler '{address}' has no workers: type `dask worker --nthreads 1 {address}`"
    assert said in capsys.readouterr().err
