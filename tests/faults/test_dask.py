"""Dask clusters: the same answer, workers that are killed, a scheduler that dies, and one without workers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from drbo import DrBO
from drbo.cli import main
from drbo.data.files.simulate import simulate
from drbo.data.reading import parquet_groups
from drbo.data.reading.read import open_source
from drbo.data.statistics.stream import streamed
from drbo.errors import WorkerError
from drbo.search.checkpoint import saver as saving
from drbo.search.evaluation import dispatch
from drbo.search.evaluation import remote as workers
from drbo.search.evaluation.spread import spread

dask = pytest.importorskip("dask", reason="needs the extra drbo[dask]")
distributed = pytest.importorskip("distributed", reason="needs the extra drbo[dask]")

OPTIONS = {"score": "splines", "max_evals": 30, "random_state": 1}
X = simulate("5ER2", model="gp", n=80, seed=3).X


def _fingerprint(model):
    result = model.result_
    trace = {name: column.tolist() for name, column in result.trace.items() if name != "seconds"}
    return json.dumps([result.score, result.dag.tolist(), result.search.local.tolist(), trace, result.stopped])


@pytest.fixture(scope="module")
def alone():
    return _fingerprint(DrBO(**OPTIONS).fit(X))


@pytest.fixture(scope="module")
def with_two():
    with ThreadPoolExecutor(2) as executor:  # as many as the cluster has
        return _fingerprint(DrBO(executor=executor, **OPTIONS).fit(X))


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Send what would be computed at home."""
    monkeypatch.setattr(workers, "LEAST_SECONDS", 1e-5)
    monkeypatch.setattr(workers, "MOST_SECONDS", 1e-4)
    monkeypatch.setattr(workers, "PROBE_SECONDS", 1e-5)


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None, silence_logs=60)
    with cluster, distributed.Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler in a process of its own, which can be killed, and its address."""
    place = tmp_path / "scheduler.json"
    words = ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(place), "--host", "127.0.0.1"]
    process = _dask(words)
    try:
        yield process, _once(lambda: place.exists() and json.loads(place.read_text() or "{}").get("address"))
    finally:
        process.kill()
        process.wait()


def _dask(words):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _cluster_here(n_workers, protocol="tcp"):
    """Start a scheduler and workers as threads of this process: they speak through sockets as others do."""
    place = {"host": "127.0.0.1", "protocol": protocol, "security": distributed.Security(), "dashboard_address": ":0"}
    worker = {"cls": distributed.Worker, "options": {**place, "nthreads": 1}}
    scheduler = {"cls": distributed.Scheduler, "options": {**place, "port": 0}}
    return distributed.SpecCluster(dict.fromkeys(range(n_workers), worker), scheduler, security=place["security"])


def _once(found, seconds=60.0):
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
    return value


def _worker(address):
    return _dask(["worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"])


def _scores_held():
    return (
        len(sys.modules["drbo.search.evaluation.remote"]._held) if "drbo.search.evaluation.remote" in sys.modules else 0
    )


def test_a_cluster_comes_to_the_same(client, with_two):
    model = DrBO(executor=client.get_executor(pure=False), **OPTIONS).fit(X)
    assert _fingerprint(model) == with_two
    assert any(client.run(_scores_held).values())


def test_a_worker_that_is_killed_loses_nothing(client, with_two):
    """Both workers, one after the other: whichever has work, some of it is lost and done again."""
    killed = threading.Event()

    def kill():
        for process in list(client.run(os.getpid).values()):
            os.kill(process, signal.SIGKILL)
            killed.set()
            time.sleep(0.3)

    thread = threading.Thread(target=kill)

    def start(progress):
        if not thread.ident:
            thread.start()
            killed.wait(10)

    model = DrBO(executor=client.get_executor(pure=False), **OPTIONS).fit(X, callbacks=[start])
    thread.join()
    assert _fingerprint(model) == with_two


def _parts(folder):
    """Ten Parquet files of a table; their folder."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    (folder / "parts").mkdir()
    for k in range(10):
        frame = pd.DataFrame(rng.normal(k, size=(4_000, 30)), columns=[f"x{j}" for j in range(30)])
        frame.to_parquet(folder / "parts" / f"{k}.parquet", row_group_size=1_000)
    return folder / "parts"


def test_a_worker_that_is_killed_costs_a_pass_over_files_its_sections_only(client, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_groups, "RUN_ROWS", 1_000)
    files = open_source(_parts(tmp_path))
    alone = streamed(files, keep_rows=True, resamples=3)
    killed = []

    def kill(begun):
        if len(begun.files) == 2 and not begun.sections:
            for process in list(client.run(os.getpid).values()):
                os.kill(process, signal.SIGKILL)
                killed.append(process)

    spread_here = partial(spread, executor=client.get_executor(pure=False))
    found = streamed(files, keep_rows=True, resamples=3, spread=spread_here, tell=kill)
    assert killed
    for name in ("n", "offset", "products"):
        assert np.array_equal(getattr(found.sums, name), getattr(alone.sums, name))
    assert np.array_equal(found.values, alone.values)
    assert np.array_equal(found.first, alone.first)
    assert np.array_equal(found.sums.resamples.products, alone.sums.resamples.products)


def test_the_command_sums_up_on_a_cluster(client, tmp_path, monkeypatch):
    monkeypatch.chdir(_parts(tmp_path).parent)
    for words in ([], ["--workers", client.scheduler.address]):
        done = CliRunner().invoke(main, ["moments", "parts", "-o", f"{len(words)}.npz", "-q", *words])
        assert done.exit_code == 0, done.output
    assert (tmp_path / "0.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


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
        with pytest.raises(WorkerError, match="no longer accepts work") as caught:
            DrBO(executor=executor, **OPTIONS).fit(X, callbacks=[kill], checkpoint=tmp_path / "run")
        assert "drbo resume" in caught.value.hint
    finally:
        client.close()
        worker.kill()
        worker.wait()
    assert _fingerprint(DrBO.resume(tmp_path / "run")) == alone


def test_a_scheduler_without_workers_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(dispatch, "ASK_SECONDS", 0.2)
    monkeypatch.setattr(dispatch, "NO_WORKER_SECONDS", 1.0)
    with _cluster_here(0) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        executor = client.get_executor(pure=False)
        with pytest.raises(WorkerError, match="has had no worker for 1 s"):
            DrBO(executor=executor, **OPTIONS).fit(X)


def test_the_command(client, alone, tmp_path):
    pd.DataFrame(X).to_csv(tmp_path / "t.csv", index=False, header=list("abcde"))
    address = client.scheduler.address
    words = [tmp_path / "t.csv", "--score", "splines", "--max-evals", "30", "--seed", "1", "--workers", address, "-q"]
    ran = CliRunner().invoke(main, ["fit", *map(str, words), "--json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["score"] == pytest.approx(json.loads(alone)[0], rel=1e-12)


def _certificates(folder):
    """Make an authority and a certificate that it signed; return Dask's settings for them."""
    openssl = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made = {name: folder / f"{name}.pem" for name in ("ca", "ca-key", "cert", "key")}
    authority = ["-keyout", made["ca-key"], "-out", made["ca"], "-subj", "/CN=authority", "-days", "2"]
    signed = ["-keyout", made["key"], "-out", made["cert"], "-subj", "/CN=127.0.0.1", "-days", "2"]
    signed += ["-CA", made["ca"], "-CAkey", made["ca-key"]]
    for words in (authority, signed):
        subprocess.run([*openssl, *words], check=True, capture_output=True)
    tls = {"require-encryption": True, "tls.ca-file": str(made["ca"])}
    for role in ("scheduler", "worker", "client"):
        tls |= {f"tls.{role}.cert": str(made["cert"]), f"tls.{role}.key": str(made["key"])}
    return {f"distributed.comm.{name}": value for name, value in tls.items()}


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
def test_a_cluster_over_tls(alone, tmp_path):
    """The command of docs/guide/scaling-out.md: Dask's own settings name the certificates."""
    settings = _certificates(tmp_path)
    pd.DataFrame(X).to_csv(tmp_path / "t.csv", index=False, header=list("abcde"))
    with dask.config.set(settings):
        cluster = _cluster_here(1, protocol="tls")
    with cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        words = ["fit", tmp_path / "t.csv", "--score", "splines", "--max-evals", "30", "--seed", "1", "-q", "--json"]
        command = [*map(str, words), "--workers", address]
        stranger = CliRunner().invoke(main, command)
        with dask.config.set(settings):
            trusted = CliRunner().invoke(main, command)
            with dask.config.set({"distributed.comm.tls.client.key": str(tmp_path / "none.pem")}):
                careless = CliRunner().invoke(main, command)
    assert (stranger.exit_code, trusted.exit_code, careless.exit_code) == (2, 0, 2), trusted.output
    assert json.loads(trusted.stdout)["score"] == pytest.approx(json.loads(alone)[0], rel=1e-12)
    assert "requires TLS certificates, but Dask's configuration names none" in stranger.stderr
    assert "cannot be read" in careless.stderr
