"""``drbo moments``: sums of one or many files, and what happens when one of them is bad."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from drbo.data.reading import parquet_groups
from drbo.data.statistics.moments_file import load_moments
from drbo.data.statistics.sections import Part, Section, SectionSums
from drbo.deadline import current

pytest.importorskip("pyarrow")
Run = Callable[..., Result]


@pytest.fixture
def parts(chain: Path, folder: Path) -> Path:
    """The table in three Parquet files of a folder."""
    frame = pd.read_csv(chain)
    (folder / "parts").mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[part].to_parquet(folder / "parts" / f"{k}.parquet")
    return folder / "parts"


def test_moments_of_a_table_are_fitted_without_it(run: Run, chain: Path) -> None:
    done = run("moments", chain, "-o", "chain.npz")
    assert done.exit_code == 0, done.stderr
    assert "200 rows, 4 columns -> chain.npz" in done.stderr
    assert "next: drbo fit chain.npz" in done.stderr
    fitted = run("fit", "chain.npz", "-q")
    assert fitted.exit_code == 0, fitted.stderr
    assert "4 variables, 200 rows, score bic-nv" in fitted.stdout


def test_a_folder_gives_the_moments_of_the_whole(run: Run, chain: Path, parts: Path) -> None:
    assert run("moments", parts, "-o", "parts.npz").exit_code == 0
    assert run("moments", chain, "-o", "whole.npz").exit_code == 0
    one, other = load_moments(Path("parts.npz")), load_moments(Path("whole.npz"))
    assert one.n == other.n == 200
    assert np.allclose(one.products, other.products, rtol=1e-12)
    assert not Path("parts.npz.partial").exists()


def _spoilt(file: Path) -> bytes:
    """Put a number into a file that is only found when it is read, and return what it was before."""
    good, frame = file.read_bytes(), pd.read_parquet(file)
    frame.iloc[3, 0] = np.inf
    frame.to_parquet(file)
    return good


def test_a_truncated_file_is_named_at_once(run: Run, parts: Path) -> None:
    (parts / "2.parquet").write_bytes((parts / "2.parquet").read_bytes()[:-100])
    failed = run("moments", parts, "-o", "all.npz")
    assert failed.exit_code == 2
    assert "2.parquet' is not a complete Parquet file" in failed.stderr
    assert not Path("all.npz.partial").exists()


def test_a_bad_file_loses_nothing(run: Run, parts: Path) -> None:
    good = _spoilt(parts / "2.parquet")
    failed = run("moments", parts, "-o", "all.npz")
    assert failed.exit_code == 2
    assert "2.parquet', block 1 (rows 0 to 65): column" in failed.stderr
    assert load_moments(Path("all.npz.partial")).n == 134
    (parts / "2.parquet").write_bytes(good)
    done = run("moments", parts, "-o", "all.npz")
    assert done.exit_code == 0, done.stderr
    assert "all.npz.partial: 2 of 3 files were summed up before" in done.stderr
    assert load_moments(Path("all.npz")).n == 200
    assert not Path("all.npz.partial").exists()


def test_files_that_changed_are_read_again(run: Run, parts: Path) -> None:
    good = _spoilt(parts / "2.parquet")
    assert run("moments", parts, "-o", "all.npz").exit_code == 2
    (parts / "2.parquet").write_bytes(good)
    pd.read_parquet(parts / "0.parquet").head(10).to_parquet(parts / "0.parquet")
    done = run("moments", parts, "-o", "all.npz")
    assert done.exit_code == 0, done.stderr
    assert "summed up before" not in done.stderr
    assert load_moments(Path("all.npz")).n == 143


def test_a_damaged_partial_file_is_left_alone(run: Run, parts: Path) -> None:
    Path("all.npz.partial").write_bytes(b"nonsense")
    assert run("moments", parts, "-o", "all.npz").exit_code == 0
    assert load_moments(Path("all.npz")).n == 200


def test_rows_with_a_missing_value_are_said(run: Run, chain: Path) -> None:
    frame = pd.read_csv(chain)
    frame.loc[3, "sun"] = np.nan
    frame.to_csv("holes.csv", index=False)
    done = run("moments", "holes.csv", "-o", "holes.npz")
    assert "200 rows, of which 1 with a missing value are left out, 4 columns" in done.stderr
    refused = run("fit", "holes.npz")
    assert refused.exit_code == 2
    assert "missing values in column 'sun' (1 of 200 rows)" in refused.stderr
    assert run("fit", "holes.npz", "--missing", "drop", "-q").exit_code == 0


def test_a_pass_that_is_stopped_goes_on_within_a_file(run: Run, chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_groups, "RUN_ROWS", 1)
    pd.read_csv(chain).to_parquet("t.parquet", row_group_size=50)
    work = SectionSums.__call__

    def late(self: SectionSums, section: Section, threshold: float) -> Part:
        current().limit(0.0 if section.start == 100 else 60.0)
        current().check()
        return work(self, section, threshold)

    with monkeypatch.context() as patch:
        patch.setattr(SectionSums, "__call__", late)
        stopped = run("moments", "t.parquet", "-o", "t.npz", "--time-limit", "1m")
        assert stopped.exit_code == 2
        assert "time limit of 0 s reached: the table was not read to its end" in stopped.stderr
        assert "run the same command again: it continues where it stopped" in stopped.stderr
        refused = run("fit", "t.parquet", "--read", "stream=true", "--time-limit", "1m")
        assert refused.exit_code == 2
        assert "run 'drbo moments' first" in refused.stderr
    done = run("moments", "t.parquet", "-o", "t.npz")
    assert "t.npz.partial: 0 of 1 files, and 2 parts of the next one, were summed up before" in done.stderr
    assert load_moments(Path("t.npz")).n == 200


def test_only_npz_is_written(run: Run, chain: Path) -> None:
    done = run("moments", chain, "-o", "chain.csv")
    assert done.exit_code == 2
    assert "moments can only be written as .npz" in done.stderr
