"""What the large trials have recorded: it is shown, holds, and is of this program or of one that is little older."""

import json

import pytest

from tests.faults.campaign import MOST_COMMITS, OUTCOME, PAGE, PROMISES, TRIALS, git, page

RECORDED = json.loads(OUTCOME.read_text())
#: Trials whose rows are older than the rule that they say which commit they tried; their next run takes them off.
UNDATED = ("kills", "fuzz", "limits", "bombs")


def test_the_page_shows_what_was_recorded():
    assert PAGE.read_text() == page(), "run 'python -m tests.faults.campaign page'"
    assert set(PROMISES) <= set(TRIALS)


def test_a_trial_that_says_its_commit_is_held_to_it():
    assert [name for name in PROMISES if "commit" not in RECORDED.get(name, {})] == list(UNDATED)


@pytest.mark.parametrize("name", [name for name in PROMISES if name not in UNDATED])
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
