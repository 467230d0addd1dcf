"""The pages are what the committed rows say, byte for byte."""

import pytest

from benchmarks.experiments import EXPERIMENTS
from benchmarks.reports import pages, results, versions
from benchmarks.rows import FOLDER, read


@pytest.fixture(scope="module")
def made():
    return pages.pages()


def test_the_committed_pages_are_those_of_the_committed_rows(made):
    stale = [path.name for path, content in made.items() if not path.exists() or path.read_bytes() != content]
    assert not stale, f"run python -m benchmarks report: {', '.join(stale)}"
    there = (pages.ROOT / "docs" / "results").iterdir()
    assert {path for path in there if path.suffix in (".md", ".svg")} <= set(made), "a page that no row makes"


def test_every_experiment_of_tables_has_a_page():
    shown = {name for _, _, names in results.GROUPS.values() for name in names}
    assert shown | {"curves", "curves_gp", "ablations", *results.ON_PRESETS} == set(EXPERIMENTS)


def test_every_file_of_rows_makes_a_page():
    elsewhere = {
        "linear",
        "bnlearn",
        "gp",
        "sachs",
        "unique",
        "paper",
        "authors",
        "calibration",
        "directions",
        "directions_pairs",
    }
    for path in FOLDER.glob("*.csv"):
        assert pages.tables_of(path.stem) or path.stem in elsewhere, path.name


@pytest.mark.parametrize(("page", "mark", "name", "table"), pages.MARKED, ids=[one[1] for one in pages.MARKED])
def test_a_table_can_be_made_of_some_of_its_rows(page, mark, name, table):
    rows = read(name)
    assert pages.shown(page, rows, table) in (pages.ROOT / page).read_text()
    part = [row for row in rows if row.get("part") == rows[0].get("part")]
    assert isinstance(table(part), str)


@pytest.mark.parametrize(("page", "mark", "name", "table"), pages.MARKED, ids=[one[1] for one in pages.MARKED])
def test_a_table_that_is_older_than_the_code_says_so(page, mark, name, table):
    older = [release for release in versions.by_release(read(name)) if release not in (versions.CURRENT, "")]
    block = (
        (pages.ROOT / page).read_text().partition(f"<!-- {mark}: start -->")[2].partition(f"<!-- {mark}: end -->")[0]
    )
    assert block.count("not yet measured again with this version") == len(older)
    assert not older or page not in pages.SENTENCES


def test_only_what_is_between_the_marks_is_replaced():
    page = "before\n<!-- a: start -->\nold\n<!-- a: end -->\nafter\n"
    for text in ("| new |\n", "| newer |\n"):
        page = pages.filled(page, "a", text)
    assert page == "before\n<!-- a: start -->\n| newer |\n<!-- a: end -->\nafter\n"
