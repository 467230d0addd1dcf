"""Figures in the text are those of the rows that they name, and none of a measurement is without a name."""

import re
from pathlib import Path

import pytest

from benchmarks.reports import quoted

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "paper" / "paper.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
PAGES += sorted((ROOT / "docs" / "evidence").glob("*.md"))
#: Pages of rules, where a figure without a unit was not measured; without those that are made of rows or messages.
RULES = [*(ROOT / "docs" / "reference").glob("*.md"), *(ROOT / "docs" / "developers").glob("*.md")]
RULES = sorted(page for page in RULES if page.stem not in ("faults", "bad-input", "migration", "api", "cli"))
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"<!-- ([\w ]+): start -->.*?<!-- \1: end -->", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
#: What is measured: times, memory, shares, distances and counts of what was right.
MEASURED = re.compile(
    r"(?<![\w.`])(\d[\d,]*(?:\.\d+)?|\.\d+)(?:\s+(?:CPU\s+)?(?:seconds?|s|minutes|milliseconds|ms|microseconds|GiB)\b"
    r"|%|\s+times\b|\s+of\s+(?:the\s+)?\d[\d,]*\b)"
    r"|\b(?:SHD|F1|precision|recall)(?:\s+of)?\s+(\d*\.?\d+)"
)


#: A number with decimals, as measurements are written; not in code, links and versions.
DECIMAL = re.compile(r"(?<![\w.])(\d[\d,]*\.\d+|\.\d+)(?![\w.])")
APART = re.compile(r"`[^`]*`|\]\([^)]*\)|Python \d\.\d+|(?:drbo|version) [\d.]+\d")


def _name(page):
    return str(page.relative_to(ROOT))


def _paragraphs(page):
    """Return the paragraphs of a page, each with the marks that follow it."""
    text = FENCE.sub("", BLOCK.sub("", page.read_text(encoding="utf-8")))
    parts = []
    for part in re.split(r"\n\s*\n", text):
        if parts and part.strip().startswith("<!--"):
            parts[-1] += "\n" + part
        elif part.strip():
            parts.append(part)
    return parts


@pytest.mark.parametrize("page", [*PAGES, *RULES], ids=_name)
def test_the_figures_of_a_text_are_those_of_rows_of_this_version(page):
    for part in _paragraphs(page):
        words = " ".join(COMMENT.sub("", part).split())
        for figure in quoted.quoted(part):
            assert figure.computed == figure.written
            assert re.search(rf"(?<![\d.]){re.escape(figure.written)}(?![\d]|\.\d)", words), figure.written
            assert quoted.is_current(figure), f"{figure.written} is of an older version"


@pytest.mark.parametrize("page", [*PAGES, *RULES], ids=_name)
def test_a_figure_that_was_measured_names_its_rows(page):
    """A figure that is a rule of the program is marked as a setting."""
    for part in _paragraphs(page):
        assert sorted(_measured(part, decimals=page in PAGES) - _marked(part)) == [], " ".join(part.split())[:120]


def _measured(part, decimals=True):
    """Return the figures of a paragraph that look like measurements."""
    text = COMMENT.sub("", part)
    found = {one or other for one, other in MEASURED.findall(text)}
    return found | set(DECIMAL.findall(APART.sub(" ", text)) if decimals else ())


def _marked(part):
    """Return the figures that name their rows, or are settings."""
    settings = (number for setting in quoted.SETTING.findall(part) for number in re.findall(r"[\d.,]*\d", setting))
    return {figure.written for figure in quoted.quoted(part)} | set(settings)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it takes 3 seconds, and 12 CPU seconds", {"3", "12"}),
        ("5 of 7 arrows, 40% of the rows, 2 times", {"5", "40", "2"}),
        ("an SHD of 4, and F1 .7", {"4", ".7"}),
        ("0.12 edges on average, and 8.3 on ten tables", {"0.12", "8.3"}),
        ("Python 3.11, `alpha=0.5`, [a page](a-0.5.md), drbo 0.2, seeds 0 to 9", set()),
        ("rows. <!-- figure: 0.5 = mean a of b -->", set()),
    ],
)
def test_what_looks_like_a_measurement(text, found):
    assert _measured(text) == found


@pytest.fixture
def rows(monkeypatch):
    found = [
        {"method": "a", "seed": "0", "shd": "1", "right": "True", "drbo": "0.1.0"},
        {"method": "a", "seed": "1", "shd": "4", "right": "False", "drbo": "0.1.0"},
        {"method": "b", "seed": "0", "shd": "9", "right": "False", "drbo": quoted.versions.CURRENT},
    ]
    monkeypatch.setattr(quoted, "read", lambda name: found if name == "table" else [])


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("mark", "computed"),
    [
        ("2.5 = mean shd of table where method=a", "2.5"),
        ("2 = count of table where method=a", "2"),
        ("9.0 = most shd of table", "9.0"),
        ("50 = share right of table where method!=b", "50"),
        ("2.5 = median shd of table where seed=0|1, method=a", "2.5"),
        ("3 = ratio shd / seed of table where method=a", "5"),
    ],
)
def test_a_figure_is_computed_from_the_rows_that_it_names(mark, computed):
    (figure,) = quoted.quoted(f"Text.\n<!-- figure:\n{mark} -->")
    assert figure.computed == computed


@pytest.mark.usefixtures("rows")
def test_a_figure_without_rows_or_of_an_older_version_is_found():
    with pytest.raises(ValueError, match="no rows"):
        quoted.quoted("<!-- figure: 1 = mean shd of table where method=c -->")
    older, newer = quoted.quoted(
        "<!-- figure: 1 = least shd of table where method=a --> <!-- figure: 9 = least shd of table where method=b -->"
    )
    assert not quoted.is_current(older)
    assert quoted.is_current(newer)
