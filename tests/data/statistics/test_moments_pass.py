"""Passes into files of moments: kept where they end early, and continued; the command is in ``cli/test_moments``."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.reading.read import open_source
from drbo.data.statistics import moments_pass
from drbo.data.statistics.moments_file import load_moments
from drbo.data.statistics.moments_pass import MomentsPass
from drbo.errors import DataError, SettingsError, WriteError


@pytest.fixture
def work(rng, tmp_path):
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    for k in range(3):
        frame[20 * k : 20 * k + 20].to_csv(tmp_path / f"{k}.csv", index=False)
    return MomentsPass(open_source([tmp_path / f"{k}.csv" for k in range(3)]), tmp_path / "all.npz", resamples=2)


def test_a_pass_that_fails_is_continued(work, tmp_path, monkeypatch):
    good = (tmp_path / "2.csv").read_text()
    (tmp_path / "2.csv").write_text("a,b\n1,x\n")
    with pytest.raises(DataError, match=r"2\.csv', block 1"):
        work.run()
    assert load_moments(work.partial).n == 40
    (tmp_path / "2.csv").write_text(good)
    begun = work.begun()
    assert len(begun.files) == 2
    monkeypatch.setattr(moments_pass, "KEPT_SECONDS", -1.0)  # saved after every file
    found = work.run(begun)
    assert (found.n, len(found.resamples)) == (60, 2)
    assert np.array_equal(load_moments(work.output).products, found.products)
    assert not work.partial.exists()


def test_a_pass_of_other_files_or_resamples_is_not_continued(work, tmp_path):
    assert work.begun() is None
    (tmp_path / "2.csv").write_text("a,b\n1,x\n")
    with pytest.raises(DataError):
        work.run()
    assert MomentsPass(work.source, work.output, resamples=3).begun() is None
    (tmp_path / "0.csv").write_text("a,b\n1,2\n")
    assert work.begun() is None
    work.partial.write_bytes(b"nonsense")
    assert work.begun() is None


def test_only_npz_is_written_and_only_where_that_is_possible(work, tmp_path):
    with pytest.raises(SettingsError, match=r"can only be written as \.npz"):
        MomentsPass(work.source, tmp_path / "all.csv")
    with pytest.raises(WriteError, match="cannot be written"):
        MomentsPass(work.source, tmp_path / "none" / "all.npz").run()
