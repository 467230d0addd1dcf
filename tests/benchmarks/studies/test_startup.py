"""Starts of processes, and what the committed rows promise."""

import pytest

from benchmarks.rows import read
from benchmarks.studies import startup


def test_a_start_is_timed_beside_the_yardstick(monkeypatch):
    monkeypatch.setattr(startup, "TABLES", {"small.csv": ("3ER1", 20)})
    monkeypatch.setattr(startup, "STARTS", {startup.YARDSTICK: ("-c", "pass"), "import drbo": ("-c", "import drbo")})
    base, own = startup.run(starts=("import drbo",), repeats=1, cold=1)
    assert (base["start"], base["warm_ratio"], base["cold_ratio"]) == (startup.YARDSTICK, 1.0, 1.0)
    assert own["warm_seconds"] >= startup.TICK
    assert own["cold_seconds"] >= startup.TICK


def test_what_does_not_start_is_an_error(tmp_path):
    with pytest.raises(startup.subprocess.CalledProcessError):
        startup.cpu_seconds(("-c", "raise SystemExit(3)"), tmp_path)


def test_imports_take_a_tenth_of_a_second_and_a_check_two():
    found = {row["start"]: row for row in read("startup")}
    assert set(found) == set(startup.STARTS)
    assert float(found["import drbo"]["warm_seconds"]) < 0.1
    assert float(found["drbo check, 60 columns and 5,000 rows"]["warm_seconds"]) < 2
