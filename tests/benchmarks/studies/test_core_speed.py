"""Both versions run in turn, and the least of their times counts."""

import json

import numpy as np
import pytest

from benchmarks import core_jobs
from benchmarks.gran_dag import Unavailable
from benchmarks.studies import core_speed


def test_both_versions_run_in_turn_and_the_least_time_counts(monkeypatch, tmp_path):
    calls, times = [], iter([4.0, 2.0, 1.0, 3.0])

    def measured(source, python, job, threads, repeats):
        calls.append("old" if source == tmp_path else "new")
        seconds = next(times)
        return {"seconds": seconds, "cpu_seconds": 2 * seconds, "score": -1.5}

    monkeypatch.setattr(core_speed, "measured", measured)
    (row,) = core_speed.run(old=tmp_path, jobs=("orders 8ER2",), threads=(1,), rounds=2, repeats=1)
    assert calls == ["old", "new", "new", "old"]
    assert (row["old_seconds"], row["new_seconds"], row["ratio"]) == (3.0, 1.0, 3.0)
    assert (row["old_cpu_seconds"], row["new_cpu_seconds"], row["cpu_ratio"]) == (6.0, 2.0, 3.0)


def test_a_version_that_fails_says_why(tmp_path):
    (tmp_path / "drbo").mkdir()
    (tmp_path / "drbo/__init__.py").write_text("raise RuntimeError('too old')")
    with pytest.raises(Unavailable, match="too old"):
        core_speed.measured(tmp_path, core_speed.sys.executable, "orders 8ER2", 1, 1)


@pytest.mark.parametrize("kind", core_jobs.KINDS)
def test_every_kind_of_job_runs(kind):
    make, small = core_jobs.KINDS[kind]
    wall, cpu, score = core_jobs.fit(make(small))
    assert wall > 0
    assert cpu > 0
    assert np.isfinite(score)


def test_a_job_is_measured_in_numbers_that_json_holds():
    found = core_jobs.measure("exact 6ER2", 1)
    assert found["seconds"] > 0
    assert json.loads(json.dumps(found)) == found


def test_every_job_is_of_a_known_kind():
    assert {job.split()[0] for job in core_speed.JOBS} == set(core_jobs.KINDS)
