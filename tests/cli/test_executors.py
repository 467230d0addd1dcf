import os
from multiprocessing import active_children
from pathlib import Path

import click
import pytest

from drbo.cli.executors import executor_for, workers
from drbo.errors import SettingsError, WorkerError
from drbo.machine.threads import processors
from drbo.search.evaluation.workers import WorkerPool


def test_none_by_default_and_a_pool_where_it_is_asked_for() -> None:
    with executor_for(None) as executor:
        assert executor is None
    with executor_for(2) as executor:
        assert isinstance(executor, WorkerPool)
        assert executor.submit(pow, 2, 3).result(60) == 8


def test_an_error_closes_the_pool() -> None:
    with pytest.raises(ZeroDivisionError), executor_for(1) as executor:
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="closed"):
        executor.submit(pow, 2, 3)


@pytest.mark.parametrize("word", ["0", "-1", "two", "", "1.5"])
def test_neither_a_number_nor_an_address(word: str) -> None:
    with pytest.raises(click.BadParameter, match="give a number of processes, host:port of a Dask scheduler, or local"):
        workers(word)


def test_dask_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("drbo.cli.executors.import_module", missing)
    with pytest.raises(SettingsError, match="not installed"), executor_for("host:8786"):
        pass


def _listening() -> list[str]:
    """Return the sockets of this process and its children that wait for others."""
    pids = [os.getpid(), *(child.pid for child in active_children())]
    links = [link for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    own = {os.readlink(link) for link in links}
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return [line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in own]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="asks /proc for sockets")
def test_local_workers_listen_nowhere() -> None:
    """Whoever could connect could run anything in the name of the user."""
    assert workers("local") == processors()
    before = _listening()
    with executor_for(min(2, int(workers("local")))) as executor:
        assert executor is not None
        assert executor.submit(pow, 2, 10).result() == 1024
        assert active_children()
        assert _listening() == before


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("drbo.cli.executors.DASK_SECONDS", 0.2)
    words = r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:1'"
    with pytest.raises(WorkerError, match=words), executor_for("tcp://127.0.0.1:1"):
        pass
