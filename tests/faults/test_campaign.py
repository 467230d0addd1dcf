"""What the large trials have recorded: it is shown, holds, and is of this program or of one that is little older."""

import json
import subprocess
import sys

import pytest

from tests.faults import campaign, limits
from tests.faults.campaign import MOST_COMMITS, OUTCOME, PAGE, PROMISES, ROOT, TRIALS, git, page

RECORDED = json.loads(OUTCOME.read_text())
DATED = [name for name in PROMISES if "commit" in RECORDED.get(name, {})]
#: Trials whose rows may be older than the rule that they say which commit they tried.
UNDATED = {"limits", "crowded", "worked"}


def test_the_page_shows_what_was_recorded():
    assert PAGE.read_text() == page(), "run 'python -m tests.faults.campaign page'"
    assert set(PROMISES) <= set(TRIALS)


def test_a_trial_that_says_its_commit_is_held_to_it():
    assert set(PROMISES) - set(DATED) <= UNDATED


@pytest.mark.parametrize("name", DATED)
def test_a_trial_was_recorded_lately(name):
    """In a clone with its history; by the number of the commit where the commit itself is not known."""
    item = RECORDED[name]
    number = git("rev-list", "--count", "HEAD")
    if not number or git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("needs the history of the repository")
    behind = git("rev-list", "--count", f"{item['commit']}..HEAD") or str(int(number) - item["number"])
    assert int(behind) <= MOST_COMMITS, f"run 'python -m tests.faults.campaign {name}' again"


@pytest.mark.parametrize("name", [name for name in PROMISES if name in RECORDED])
def test_what_was_recorded_holds(name):
    rows = RECORDED[name]["value"]
    assert [row for row in (rows if isinstance(rows, list) else [rows]) if row["failed"]] == []


def test_every_change_is_tried_by_the_reduced_campaign():
    assert "make campaign\n" in (ROOT / ".ci" / "run").read_text()


def test_a_limit_counts_as_missed_if_it_is_missed_twice(monkeypatch):
    """Something else may have begun after the pace of the machine was measured; a run that hangs is late again."""
    case, tried = limits.REDUCED[0], []
    monkeypatch.setattr(limits.Trial, "measure", lambda trial: None)
    for failed, expected in (([0], [0]), ([1, 0], [0]), ([1, 1], [1])):
        ends = iter(failed)
        monkeypatch.setattr(limits.Trial, "outcome", lambda trial, case, ends=ends: {"failed": next(ends)})
        tried.append([row["failed"] for row in limits.limits(cases=(case,), busy=True)] == expected)
        assert list(ends) == []
    assert tried == [True] * 3


@pytest.mark.parametrize(("pace", "failed"), [(1.5, 1), (3.0, 0)])
def test_a_machine_that_is_too_slow_for_a_graph_must_say_so_in_time(pace, failed, tmp_path):
    trial = limits.Trial(tmp_path, busy=True)
    trial.pace, case = pace, limits.REDUCED[0]
    for seconds, expected in ((case.limit + 1, failed), (case.limit + 100, 1)):
        found = limits.Run(
            seconds, seconds, seconds, 100.0, 2, "error: time limit of 15 s reached before there was a result"
        )
        assert trial._row(case, tmp_path, tmp_path / "run", found, 0.0)["failed"] == expected
    other = limits.Run(case.limit, case.limit, case.limit, 100.0, 1, "error: internal error")
    assert trial._row(case, tmp_path, tmp_path / "run", other, 0.0)["failed"] == 1


@pytest.mark.parametrize(
    ("waits", "seconds", "work", "failed"),
    [(False, 110, 11, 0), (False, 110, 13, 1), (True, 110, 1, 0), (True, 200, 1, 1)],
)
def test_work_is_timed_by_the_processor_and_waiting_alone_by_the_clock(waits, seconds, work, failed, tmp_path):
    case = limits.Case("check", "8 columns x 200 rows", (), limit=10, command="check", waits=waits)
    found = limits.Run(seconds, work, seconds, 100.0, 0, "")
    trial = limits.Trial(tmp_path, by_work=True)
    assert trial._row(case, tmp_path, tmp_path / "run", found, 0.0)["failed"] == failed


def test_the_clock_of_the_processor_stands_still_while_a_program_waits():
    code = "import sys, time; sys.argv[1:] = ['init', '--help']; import runpy; time.sleep(3)\n"
    code += f"try: runpy.run_module('{limits.CLOCK}', run_name='__main__')\n"
    code += "except SystemExit: print(time.monotonic() < 3)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "True"


def test_seconds_of_fuzzing_add_up_while_the_core_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "OUTCOME", tmp_path / "outcome.json")
    sources = ["one", "one", "other"]
    monkeypatch.setattr(campaign, "git", lambda *words: sources[0] if "HEAD:src/core" in words else "")
    totals = []
    while sources:
        campaign.record_fuzzed({"climb": (1.5, 10)})
        totals.append(json.loads(campaign.OUTCOME.read_text())["core"]["value"]["entries"]["climb"])
        sources.pop(0)
    assert totals == [[1.5, 10], [3.0, 20], [1.5, 10]]


def test_the_checkpoint_of_a_long_search_is_measured_and_read_again():
    found = campaign.size(n_nodes=30, n_dags=6_000)
    assert found["families"] > 30
    assert found["bytes"] > 2**20  # more than the directory of an archive may take
