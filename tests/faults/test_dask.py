"""Dask clusters: the same answer, workers that are killed, a scheduler that dies, and one without workers."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from drbo import DrBO
from drbo.cli import main
from drbo.data.simulate import simulate
from drbo.errors import WorkerError
from drbo.search import saving, workers

distributed = pytest.importorskip("distributed", reason="needs the extra drbo[dask]")

OPTIONS = {"score": "gp", "max_evals": 30, "random_state": 1}
X = simulate("5ER2", model="gp", n=80, seed=3).X


def _fingerprint(model):
    result = model.result_
    trace = {name: column.tolist() for name, column in result.trace_columns.items() if name != "seconds"}
    return json.dumps([result.score, result.dag.tolist(), result.local.tolist(), trace, result.stopped])


@pytest.fixture(scope="module")
def alone():
    return _fingerprint(DrBO(**OPTIONS).fit(X))


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Send what would be computed at home."""
    monkeypatch.setattr(workers, "LEAST_SECONDS", 1e-5)
    monkeypatch.setattr(workers, "MOST_SECONDS", 1e-4)
    monkeypatch.setattr(workers, "PROBE_SECONDS", 1e-5)


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(2, threads_per_worker=2, dashboard_address=None, silence_logs=60)
    with cluster, distributed.Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler of its own process that can be killed, and its address."""
    place = tmp_path / "scheduler.json"
    words = [
        "dask",
        "scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(place),
        "--host",
        "127.0.0.1",
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-m", *words], **quiet)
    address = _once(lambda: place.exists() and json.loads(place.read_text() or "{}").get("address"))
    yield process, address
    process.kill()
    process.wait()


def _once(found, seconds=60.0):
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
    return value


def _worker(address):
    words = ["dask", "worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    return subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _scores_held():
    return len(sys.modules["drbo.search.workers"]._held) if "drbo.search.workers" in sys.modules else 0


def test_a_cluster_comes_to_the_same(client, alone):
    model = DrBO(executor=client.get_executor(pure=False), **OPTIONS).fit(X)
    assert _fingerprint(model) == alone
    assert any(client.run(_scores_held).values())


def test_a_worker_that_is_killed_loses_nothing(client, alone):
    """Both workers, one after the other: whichever has work, some of it is lost and done again."""
    killed = threading.Event()

    def kill():
        for process in list(client.run(os.getpid).values()):
            os.kill(process, signal.SIGKILL)
            killed.set()
            time.sleep(1.0)

    thread = threading.Thread(target=kill)

    def start(progress):
        if not thread.ident:
            thread.start()
            killed.wait(10)

    model = DrBO(executor=client.get_executor(pure=False), callbacks=[start], **OPTIONS).fit(X)
    thread.join()
    assert _fingerprint(model) == alone


def test_a_dead_scheduler_is_an_error_in_words_and_the_run_goes_on_later(scheduler, alone, tmp_path, monkeypatch):
    monkeypatch.setitem(saving.Saver.__init__.__kwdefaults__, "every", 0.0)
    monkeypatch.setattr(saving, "LARGEST_SHARE", 1e9)
    process, address = scheduler
    worker = _worker(address)
    client = distributed.Client(address, timeout=2, set_as_default=False)

    def kill(progress):
        if progress.iteration == 2:
            process.kill()

    try:
        client.wait_for_workers(1, timeout=60)
        executor = client.get_executor(pure=False)
        with pytest.raises(WorkerError, match="takes no more work") as caught:
            DrBO(executor=executor, callbacks=[kill], checkpoint=tmp_path / "run", **OPTIONS).fit(X)
        assert "drbo resume" in caught.value.hint
    finally:
        client.close()
        worker.kill()
        worker.wait()
    assert _fingerprint(DrBO.resume(tmp_path / "run")) == alone


def test_a_scheduler_without_workers_is_not_waited_for_for_ever(scheduler, monkeypatch):
    monkeypatch.setattr(workers, "ASK_SECONDS", 0.2)
    monkeypatch.setattr(workers, "NO_WORKER_SECONDS", 1.0)
    with distributed.Client(scheduler[1], timeout=5, set_as_default=False) as client:
        executor = client.get_executor(pure=False)
        with pytest.raises(WorkerError, match="has had no worker for 1 s"):
            DrBO(executor=executor, **OPTIONS).fit(X)


def test_the_command(scheduler, alone, tmp_path):
    worker = _worker(scheduler[1])
    pd.DataFrame(X).to_csv(tmp_path / "t.csv", index=False, header=list("abcde"))
    words = [tmp_path / "t.csv", "--score", "gp", "--max-evals", "30", "--seed", "1", "--dask", scheduler[1], "-q"]
    try:
        ran = CliRunner().invoke(main, ["fit", *map(str, words), "--json"])
    finally:
        worker.kill()
        worker.wait()
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["score"] == pytest.approx(json.loads(alone)[0], rel=1e-12)


def test_the_command_starts_a_cluster_of_its_own(tmp_path):
    np.savez(tmp_path / "t.npz", X=X)
    words = ["fit", str(tmp_path / "t.npz"), "--score", "bge", "--max-evals", "5", "--dask", "local"]
    done = subprocess.run([sys.executable, "-m", "drbo", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "distributed" not in done.stderr
