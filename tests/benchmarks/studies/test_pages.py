"""Reports in a browser: a slice of the benchmark, and what its committed rows promise."""

import csv
import os
import shutil

import pytest

from benchmarks import rows
from benchmarks.studies import pages

CHROMIUM = any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))


@pytest.mark.skipif(not CHROMIUM and not os.environ.get("DRBO_REQUIRE_CHROMIUM"), reason="no Chromium is installed")
def test_a_slice_runs(tmp_path):
    pages.main(["--graphs", "10ER1", "--seconds", "2", "--save", str(tmp_path / "rows.csv")])
    found = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert [row["nodes"] for row in found] == ["10", "11"]
    assert all(0 < float(row["median_seconds"]) <= float(row["longest_seconds"]) for row in found)


def test_a_hundred_nodes_stay_below_two_megabytes_and_two_seconds():
    found = rows.load(rows.FOLDER / "pages.csv")
    assert max(int(row["nodes"]) for row in found) >= 100
    assert all(int(row["bytes"]) < 2e6 and float(row["longest_seconds"]) < 2 for row in found)


def test_the_docs_hold_the_rows():
    assert pages.page(rows.load(rows.FOLDER / "pages.csv")) in (pages.DOCS / "report.md").read_text()
