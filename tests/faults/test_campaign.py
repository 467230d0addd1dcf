"""What the large trials have recorded: it is shown, holds, and is of this program or of one that is little older."""

import json

import pytest

from tests.faults.campaign import MOST_COMMITS, OUTCOME, PAGE, PROMISES, TRIALS, git, page

RECORDED = json.loads(OUTCOME.read_text())


def test_the_page_shows_what_was_recorded():
    assert PAGE.read_text() == page(), "run 'python -m tests.faults.campaign page'"
    assert set(PROMISES) <= set(TRIALS)


@pytest.mark.parametrize("name", PROMISES)
def test_a_trial_was_recorded_lately(name):
    """In a clone with its history; by the number of the commit, which is known even where that commit is not."""
    item = RECORDED[name]
    assert {"version", "commit", "number"} <= set(item), f"run 'python -m tests.faults.campaign {name}'"
    number = git("rev-list", "--count", "HEAD")
    if not number or git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("needs the history of the repository")
    behind = git("rev-list", "--count", f"{item['commit']}..HEAD") or str(int(number) - item["number"])
    assert int(behind) <= MOST_COMMITS, f"run 'python -m tests.faults.campaign {name}' again"


@pytest.mark.parametrize("name", PROMISES)
def test_what_was_recorded_holds(name):
    rows = RECORDED[name]["value"]
    assert [row for row in (rows if isinstance(rows, list) else [rows]) if row["failed"]] == []
