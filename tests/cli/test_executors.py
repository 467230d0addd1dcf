import pytest

from drbo.cli.executors import executor_for
from drbo.errors import SettingsError, WorkerError
from drbo.search.evaluation.workers import WorkerPool


def test_none_by_default_and_a_pool_where_it_is_asked_for() -> None:
    with executor_for(None, None) as executor:
        assert executor is None
    with executor_for(2, None) as executor:
        assert isinstance(executor, WorkerPool)
        assert executor.submit(pow, 2, 3).result(60) == 8


def test_an_error_closes_the_pool() -> None:
    with pytest.raises(ZeroDivisionError), executor_for(1, None) as executor:
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="closed"):
        executor.submit(pow, 2, 3)


def test_one_of_the_two() -> None:
    with pytest.raises(SettingsError, match="cannot be combined"), executor_for(1, "local"):
        pass


def test_dask_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("drbo.cli.executors.import_module", missing)
    with pytest.raises(SettingsError, match="not installed"), executor_for(None, "local"):
        pass


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("drbo.cli.executors.DASK_SECONDS", 0.2)
    words = r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:1'"
    with pytest.raises(WorkerError, match=words), executor_for(None, "tcp://127.0.0.1:1"):
        pass
