import errno
from contextlib import nullcontext

import numpy as np
import pytest

from drbo import DrBO, Settings
from drbo.data.files.simulate import simulate
from drbo.data.statistics import square as module
from drbo.data.statistics.moments import complete_moments
from drbo.data.statistics.square import add_products, rearranged, square, steps, within
from drbo.deadline import Deadline, OutOfTimeError
from drbo.errors import DataError, TimeLimitError


def test_matrices_are_in_files_where_eight_are_too_large():
    assert square(100).base is None
    with within(8 * 100**2 * 8 / 2**30):
        assert square(100).base is None
        matrix = square(101)
        assert isinstance(matrix.base, np.memmap)
        assert not matrix.any()
        matrix[3] = 1.0
        assert matrix.sum() == 101
    assert square(101).base is None


@pytest.mark.parametrize("width", [1, 3, 7, 50])
def test_products_and_rearranged_columns_are_those_of_whole_matrices(monkeypatch, width):
    monkeypatch.setattr(module, "WIDTH", width)
    rng = np.random.default_rng(width)
    rows, columns = rng.normal(size=(20, 7)), rng.permutation(7)[:5]
    total = np.ones((7, 7))
    add_products(total, rows)
    np.testing.assert_allclose(total, 1 + rows.T @ rows, rtol=1e-12)
    assert (total == total.T).all()
    assert (rearranged(total, columns) == total[np.ix_(columns, columns)]).all()


def test_files_do_not_change_a_fit():
    values = simulate("40ER2", n=200, seed=1).X
    values = np.concatenate([values, np.random.default_rng(0).normal(size=(200, 375))], axis=1)
    found = []
    for memory in (4.0, 0.01):
        settings = Settings(order_patience=1, max_memory=memory)
        result = (
            DrBO(score="bic-nv", random_state=0, settings=settings, score_options={"penalty": 4.0}).fit(values).result_
        )
        found.append((result.search.score, result.dag.tobytes(), result.weights.tobytes()))
    assert found[0] == found[1]
    with within(0.01):
        assert isinstance(complete_moments(values).covariance.base, np.memmap)


def test_a_full_disk_is_told(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module.os, "posix_fallocate", full, raising=False)
    with within(1e-9), pytest.raises(DataError, match="50 columns need files of") as told:
        square(50)
    assert "TMPDIR" in told.value.hint


def test_the_deadline_ends_what_takes_several_steps_and_nothing_else(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(5, 40))
    for step in (module.STEP, 40 * 7):
        monkeypatch.setattr(module, "STEP", step)
        monkeypatch.setattr(module, "WIDTH", 16)
        few, order, total = step > 40 * 40, np.arange(40)[::-1], np.zeros((40, 40))
        add_products(total, rows)
        assert [part.stop for part in steps(40)][-1] == 40
        assert (rearranged(total, order) == total[::-1, ::-1]).all()
        for work, given in ((add_products, (total, rows)), (rearranged, (total, order))):
            with Deadline(0.0), nullcontext() if few else pytest.raises(OutOfTimeError):
                work(*given)


def test_a_fit_of_many_columns_without_time_for_a_graph_says_so_before_it_searches(monkeypatch):
    values = simulate("700ER2", n=50, seed=1).X
    monkeypatch.setattr(module, "STEP", 2**14)
    with pytest.raises(TimeLimitError, match="before there was a result"):
        DrBO(score="bic-nv", random_state=0, time_limit=0.2).fit(values)
