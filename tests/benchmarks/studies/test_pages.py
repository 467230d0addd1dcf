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
    assert all(0 < row["median_cpu_seconds"] <= row["longest_cpu_seconds"] for row in found)


def test_a_hundred_nodes_stay_below_two_megabytes_and_three_cpu_seconds():
    found = read("pages")
    assert max(int(row["nodes"]) for row in found) >= 100
    assert all(int(row["bytes"]) < 2e6 and float(row["median_cpu_seconds"]) < 3 for row in found)
    assert all(float(row[f"{device}_label_pixels"]) >= 9 for row in found for device in ("desktop", "phone"))
    assert next(row for row in found if row["data"] == "60ER2")["desktop_whole"] == "True"


def test_no_page_has_a_barrier():
    found = read("axe")
    assert {"own report.html", "own compare.html", "index.html", "own-score.html"} <= {row["page"] for row in found}
    assert not [row for row in found if row["violations"] != "0"]
