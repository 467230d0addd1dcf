"""How the graph of a series is shown: lags, mechanisms, windows, and pictures without an unused past."""

import numpy as np
import pytest

from drbo.claims.denial import ClaimRecord, Denial
from drbo.result.pictures.svg import graph_svg
from drbo.result.records import SeriesRecord
from drbo.result.report.content import Content
from drbo.result.report.drawing import Drawing
from drbo.result.report.page import report_html
from drbo.result.words.series_reading import SeriesReading
from tests.results import make_result

NAMES = ("a", "b", "a[-1]", "b[-1]", "a[-2]", "b[-2]")
MADE = (ClaimRecord(name="hidden drivers", status="ran", grounds=("time", "class")),)


def _result(*arrows, denials=(), **given):
    dag = np.zeros((6, 6), dtype=bool)
    for cause, effect in arrows:
        dag[NAMES.index(cause), NAMES.index(effect)] = True
    made = make_result(dag, names=NAMES, series=SeriesRecord(lags=(0, 0, 1, 1, 2, 2)), **{"made": MADE} | given)
    if not denials:
        return made
    from dataclasses import replace

    return replace(made, claims=replace(made.claims, denials=tuple(denials)))


@pytest.fixture
def result():
    return _result(("a[-1]", "a"), ("a[-1]", "b"), ("a[-2]", "b"))


def test_edges_have_lags_and_mechanisms_one_verdict(result):
    assert isinstance(result.reading, SeriesReading)
    assert result.edges()["lag"].tolist() == [1, 1, 2]
    assert result.reading.mechanisms() == {("a", "a"): ((1,), "supported"), ("a", "b"): ((1, 2), "supported")}
    denial = Denial(cause="a[-2]", effect="b", claim="hidden drivers", grounds=("time",), sentence="No.")
    doubted = _result(("a[-1]", "a"), ("a[-1]", "b"), ("a[-2]", "b"), denials=[denial])
    assert doubted.reading.mechanisms()["a", "b"] == ((1, 2), "assumed")
    assert [one.direction for one in doubted.directions] == ["supported", "assumed", "assumed"]


def test_the_summary_speaks_of_variables_lags_and_time(result):
    text = result.summary()
    assert text.startswith("2 variables at lags 0 to 2, ")
    assert "Mechanisms: 2 (which variable acts on which, at any lag)\n  a on a  lag 1      supported" in text
    assert "--hidden" not in text
    assert "time tells the direction of an arrow from the past" in text
    assert "Mechanisms" not in _result().summary()


def test_nobody_is_asked_about_the_past():
    assert _result(("a[-1]", "b"), ("a", "b"), made=()).reading.questions()[0].startswith("Which of 'a' and 'b'")
    assert _result(("a[-1]", "b")).reading.questions() == ()


def test_pictures_have_the_past_above_the_present_and_leave_out_what_nothing_follows_from(result):
    drawing = Drawing.of(result)
    assert drawing.names == ("a", "b", "a[-1]", "a[-2]")
    assert [name for name, *_ in drawing.bands] == ["t - 2", "t - 1", "t"]
    assert [(drawing.names[line.source], drawing.names[line.target]) for line in drawing.lines] == [
        ("a[-1]", "a"), ("a[-1]", "b"), ("a[-2]", "b"),
    ]  # fmt: skip
    assert drawing.centres[3, 1] < drawing.centres[2, 1] < drawing.centres[0, 1]
    assert "name[-k]: k steps before" in graph_svg(result)
    figure = pytest.importorskip("matplotlib.figure")
    axes = result.plot(ax=figure.Figure().subplots())
    texts = {text.get_text() for text in axes.texts}
    assert "a[-2]" in texts
    assert "b[-2]" not in texts


def test_the_report_speaks_of_mechanisms(result):
    content = Content(result)
    assert content.headline.startswith("3 edges among 2 variables at lags 0 to 2")
    assert content.words.says == (
        "The data support that a acts on itself 1 step later and a acts on b 1 step later and 2 steps later.",
    )
    assert "given the 2 rows before them" in " ".join(content.wording.assumptions)
    assert "b[-2]" not in report_html(result).partition('id="data"')[0].partition("<section")[2]


def test_the_report_says_what_is_open_and_what_to_do():
    content = Content(_result(("a", "b"), made=()))
    assert content.words.says == ("a–b is linked, and which causes which is open.",)
    denial = Denial(cause="a[-2]", effect="b", claim="hidden drivers", grounds=("time",), sentence="No.")
    doubted = Content(_result(("a[-2]", "b"), denials=[denial]))
    assert doubted.words.says == ("It is a guess that a acts on b 2 steps later.",)
    assert "larger --max-lag" in doubted.words.next[-1]
    assert Content(_result()).words.says == ("Of 2 variables at lags 0 to 2, none acts on another.",)
