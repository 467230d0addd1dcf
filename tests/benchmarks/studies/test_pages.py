"""Reports in a browser: a slice of the benchmark, and what its committed rows promise."""

import os
import shutil

import pytest

from benchmarks.rows import read
from benchmarks.studies import pages

CHROMIUM = any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))


@pytest.mark.skipif(not CHROMIUM and not os.environ.get("DRBO_REQUIRE_CHROMIUM"), reason="no Chromium is installed")
def test_a_slice_runs():
    found = list(pages.run(graphs=("10ER1",), seconds=2.0))
    assert [row["nodes"] for row in found] == [11, 10]
    assert all(0 < row["median_seconds"] <= row["longest_seconds"] for row in found)


def test_a_hundred_nodes_stay_below_two_megabytes_and_two_seconds():
    found = read("pages")
    assert max(int(row["nodes"]) for row in found) >= 100
    assert all(int(row["bytes"]) < 2e6 and float(row["longest_seconds"]) < 2 for row in found)
