"""A reader finds the way: short guide pages that run, measurements apart from them, and two clicks to an answer."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = sorted((DOCS / "guide").glob("*.md"))
EVIDENCE = sorted((DOCS / "evidence").glob("*.md"))
BLOCK = re.compile(r"<!-- ([\w ]+): start -->.*?<!-- \1: end -->", re.DOTALL)
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+\.md)(?:#([^)\s]*))?\)")
MOST_WORDS, CLICKS = 900, 2

#: What a reader asks, the pages that are opened one after the other from the index, and words of the answer.
ASKED = (
    ("Likert data with missing answers?", ["guide/which-page.md", "guide/rows.md"], "--missing impute"),
    ("Several rows per patient?", ["guide/which-page.md", "guide/rows.md"], "--groups patient"),
    ("Which arrows may I believe?", ["guide/trust.md"], "solid arrow"),
    ("Can my score take ten seconds?", ["guide/own-score.md"], "A score that takes seconds"),
    ("A cause may be missing from the table?", ["guide/hidden.md"], "bidirected"),
    ("Rows of a knock-out experiment?", ["guide/which-page.md", "guide/experiments.md"], "--experiment run"),
    ("Do 2,000 columns fit into memory?", ["guide/limits.md"], "| 2,000 |"),
    ("How did lingam do on the same data?", ["evidence/scores.md"], "DirectLiNGAM"),
    ("What must I state in a paper?", ["guide/in-a-paper.md"], "seed, settings, exact command"),
    ("I used bnlearn's blacklist: what now?", ["guide/coming-from.md"], '--forbid "a->b"'),
)


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def _index() -> set[str]:
    """Return the pages that the index leads to, by its text, cards and side bar."""
    text = _text(DOCS / "index.md")
    listed = re.findall(
        r"^(?:[\w ,]+<)?((?:guide|evidence|reference|developers|results)/[\w-]+)>?$", text, re.MULTILINE
    )
    cards = re.findall(r"^:link: (\S+)$", text, re.MULTILINE)
    return {f"{name}.md" for name in (*listed, *cards)} | {name for name, _ in LINK.findall(text)}


def _links(page: str) -> set[str]:
    """Return the pages that a page links to."""
    return {
        (DOCS / page).parent.joinpath(name).resolve().relative_to(DOCS.resolve()).as_posix()
        for name, _ in LINK.findall(FENCE.sub("", _text(DOCS / page)))
        if (DOCS / page).parent.joinpath(name).resolve().is_relative_to(DOCS.resolve())
    }


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_a_page_of_the_guide_is_short(page):
    """Words in tables count, their lines and code do not."""
    words = re.findall(r"\S*\w\S*", FENCE.sub("", BLOCK.sub("", _text(page))))
    assert len(words) <= MOST_WORDS


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_a_page_of_the_guide_has_an_example(page):
    examples = [code for code in re.findall(r"^```(\w*)", _text(page), re.MULTILINE) if code in ("python", "bash", "")]
    assert examples or page.stem in ("faq",)


def test_measurements_stand_apart_from_the_guide():
    """The table of limits is what a reader of the guide asks for."""
    assert [page.stem for page in GUIDE if BLOCK.search(_text(page))] == ["limits"]
    assert [page.stem for page in EVIDENCE if not BLOCK.search(_text(page))] == []


def test_the_index_leads_to_every_page():
    every = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"index.md"}
    of_results = {page for page in every if page.startswith("results/") and page != "results/index.md"}
    assert every - of_results == _index()


@pytest.mark.parametrize(("question", "path", "answer"), ASKED, ids=[question for question, _, _ in ASKED])
def test_a_question_is_answered_within_two_clicks_from_the_index(question, path, answer):
    assert len(path) <= CLICKS
    assert path[0] in _index()
    for page, after in pairwise(path):
        assert after in _links(page)
    assert answer in _text(DOCS / path[-1])


def test_links_lead_to_headings():
    """The anchor of a link is the name of a heading of the page."""
    for page in DOCS.rglob("*.md"):
        for name, anchor in LINK.findall(FENCE.sub("", _text(page))):
            target = page.parent / name
            if anchor and target.name != "api.md":
                assert anchor in _anchors(target), f"{page.relative_to(DOCS)}: {name}#{anchor}"


def _anchors(page: Path) -> set[str]:
    """Return the names that the site and GitHub give to headings."""
    names = re.findall(r"^#+ (.*)$", FENCE.sub("", _text(page)), re.MULTILINE)
    plain = (re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", name)) for name in names)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", name.lower()).strip()) for name in plain}
