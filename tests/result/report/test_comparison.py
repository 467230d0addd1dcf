"""Two runs side by side: what the page says, and how it looks in a browser."""

import re

import pytest

from drbo.errors import DataError
from drbo.result.report.comparison import RunComparison, comparison_html, write_comparison
from tests.result.report.test_links import NAMES, a_run

HOSTILE = ("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", '"><svg onload=alert(3)>', "{{ 7*7 }}")
RUNS = ("run1", "run2")


def test_links_are_found_whatever_the_order_of_the_columns():
    first, second = a_run([(0, 1), (3, 2)]), a_run([(3, 2), (0, 1)], names=NAMES[::-1])
    words = RunComparison((first, second), RUNS).words
    assert words.says == ("Both runs found the same graph: the same 2 links with the same directions.",)
    assert words.next == ()


def test_plain_words_say_what_differs_and_why_it_may():
    results = (a_run([(0, 1), (1, 2)]), a_run([(2, 1), (2, 3)], seed=1, score=-8.5))
    words = RunComparison(results, RUNS).words
    text = " ".join([*words.says, *words.doubt, *words.next])
    assert "Both runs link wet–slip." in text
    assert "Only run1 links rain–wet." in text
    assert "Only run2 links slip–sun." in text
    assert "run1 has wet ⇾ slip, run2 has wet ⇽ slip" in text
    assert "the search has not settled the links in which they differ" in text
    assert "the graph of run2 scores 1.5 higher than that of run1" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"score_name": "bge"}, "scores of different kinds"),
        ({"score_options": {"penalty": 2.0}}, "scores of different kinds"),
        ({"sha256": "cd" * 32}, "because the tables differ"),
        ({}, "have the same score"),
    ],
)
def test_only_scores_of_one_kind_on_one_table_are_compared(changes, words):
    found = RunComparison((a_run([(0, 1)]), a_run([(0, 1)], **changes)), RUNS)
    assert words in found.words.doubt[-1]


def test_settings_that_differ_are_listed_and_no_others():
    first = a_run([(0, 1)], settings={"max_evals": 10, "dropout": 0.3}, versions={"drbo": "0.2.0"})
    second = a_run([(0, 1)], settings={"max_evals": 20, "dropout": 0.3}, versions={"drbo": "0.2.0"}, n_rows=60)
    assert RunComparison((first, second), RUNS).settings == [("rows", "50", "60"), ("max_evals", "10", "20")]


def test_tables_with_other_columns_are_refused():
    with pytest.raises(DataError, match="run1 and run2 have different columns"):
        comparison_html((a_run([(0, 1)]), a_run([(0, 1)], names=("a", "b"))), RUNS)


def test_graphs_without_links_have_a_page():
    text = comparison_html((a_run([]), a_run([])), RUNS)
    assert "Neither run links any two variables." in text
    assert "Neither graph has a link." in text


def test_hostile_names_stay_text_and_nothing_is_loaded():
    text = comparison_html((a_run([(0, 1)], names=HOSTILE), a_run([(1, 2)], names=HOSTILE)), (HOSTILE[0], HOSTILE[1]))
    assert "<img" not in text
    assert "onload=alert(3)>" not in text
    assert text.count("<script") == 1
    assert "{{ 7*7 }}" in text
    assert not re.search(r'(src|href)="(?!#)', text)
    assert "default-src &#39;none&#39;" in text


class TestInTheBrowser:
    @pytest.fixture
    def page(self, tmp_path):
        results = (a_run([(0, 1), (1, 2)]), a_run([(2, 1), (2, 3)]))
        return write_comparison(results, RUNS, tmp_path / "compare.html")

    @pytest.mark.parametrize("width", [390, 1400])
    def test_it_opens_without_complaints_and_is_not_wider_than_the_screen(self, browser, page, width):
        browser.open(page, width=width)
        assert browser.run("document.querySelectorAll('.graph').length") == 2
        assert browser.run("document.documentElement.scrollWidth") == width
        assert browser.complaints == []

    def test_a_variable_is_at_the_same_place_in_both_pictures(self, browser, page):
        browser.open(page)
        places = browser.run(
            "Array.from(document.querySelectorAll('.graph')).map(graph =>"
            " Array.from(graph.querySelectorAll('.node rect')).map(box => box.outerHTML))"
        )
        assert places[0] == places[1]

    def test_a_row_finds_its_link_in_both_pictures(self, browser, page):
        browser.open(page)
        row = "document.querySelector('#edge-table .turned').closest('tr')"
        browser.run(f"{row}.click()")
        assert browser.run("document.querySelectorAll('.graph .chosen').length") == 2
        browser.run(f"{row}.click()")
        assert browser.run("document.querySelectorAll('.chosen').length") == 0
