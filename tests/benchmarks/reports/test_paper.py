"""Every figure of the paper stands beside ours, and where ours differs the reason is written."""

import pytest

from benchmarks.reports import curves, paper, published, reasons, tables
from benchmarks.reports.paper import NO_REASON, SPREAD, Cell


@pytest.fixture(scope="module")
def pages():
    return paper.page(""), curves.page("")


def test_every_cell_that_is_worse_or_differs_has_a_reason(pages):
    lacking = [line for text in pages for line in text.splitlines() if NO_REASON in line]
    assert not lacking, "write a reason in benchmarks/reports/reasons.py:\n" + "\n".join(lacking)


def test_every_figure_of_drbo_in_the_paper_is_shown(pages):
    for experiment, data in published.SHD:
        assert f"| {experiment} | {data} | drbo paper | " in pages[0]
    for data in published.RUN_TIMES:
        assert f"## {data}\n" in pages[1]


def test_the_authors_program_stands_beside_the_preset_on_the_same_data(monkeypatch):
    calls = {"preset": "paper", "score_name": "bic-ev", "graph": "30ER8", "candidates": "100000", "n_evals": "10000"}
    rows = {
        "authors": [
            {"graph": "30ER8", "data_set": one, "shd": shd} for one, shd in (("0", "2"), ("0", "4"), ("1", "9"))
        ],
        "speed_call": [
            calls | {"seed": "0", "shd": "1"},
            calls | {"seed": "1", "shd": "3"},
            calls | {"seed": "7", "shd": "90"},  # another data set
            calls | {"seed": "0", "candidates": "10000", "shd": "80"},
        ],
    }
    monkeypatch.setattr(paper, "read", rows.__getitem__)
    shown = paper.same_data().splitlines()
    assert "| the authors' program | 2, 4 | 9 | 5.0 +- 3.6 (3) |" in shown
    assert '| `preset="paper"` | 1 | 3 | 2.0 +- 1.4 (2) |' in shown


def test_a_difference_by_chance_is_told_from_one_that_needs_a_reason():
    near = Cell("raw", "10ER2 raw", "drbo paper", (1.0, 2.0), [1.0, 0.0, 0.0, 0.0, 9.0])
    assert near.worse
    assert near.reason == SPREAD
    far = near._replace(found=[8.0, 9.0, 9.0, 9.0, 10.0])
    assert far.reason == NO_REASON
    assert not near._replace(found=[1.0, 1.0]).worse
    assert near._replace(figure=(0.0, 0.0), found=[1.0, 1.0, 1.0]).reason == NO_REASON  # no spread to hide in


def test_a_written_reason_is_shown_where_it_is_needed(monkeypatch):
    monkeypatch.setitem(reasons.OURS, ("raw", "10ER2 raw", "drbo paper"), "it rained")
    assert Cell("raw", "10ER2 raw", "drbo paper", (0.0, 0.0), [1.0, 1.0]).reason == "it rained"


def test_verdicts_on_rivals():
    assert paper.verdict([10.0, 12.0], (10.0, 1.0), "x") == "agrees"
    assert paper.verdict([20.0, 20.0], (10.0, 1.0), "x") == f"{tables.NOT_REPRODUCED}: x"
    assert paper.verdict([1.0, 1.0], (10.0, 1.0), "x") == "better here: x"


def test_a_reason_of_a_rival_may_be_that_of_one_data_set(monkeypatch):
    monkeypatch.setitem(reasons.RIVALS, ("raw", "10ER2 raw", "SCORE"), "here")
    monkeypatch.setitem(reasons.RIVALS, ("raw", "SCORE"), "everywhere")
    assert reasons.of_rival("raw", "10ER2 raw", "SCORE") == "here"
    assert reasons.of_rival("raw", "30ER8 raw", "SCORE") == "everywhere"
