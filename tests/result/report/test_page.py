"""The report as a file, and as people see it: in a headless Chromium."""

import json
import re
import time

import numpy as np
import pytest

from drbo.data.checks.facts import Audit, ColumnFacts, Finding
from drbo.deadline import Stop
from drbo.knowledge import Knowledge
from drbo.result.pictures.svg import graph_svg
from drbo.result.records import Scoring, SearchRecord
from drbo.result.report.content import Content
from drbo.result.report.drawing import Drawing
from drbo.result.report.page import (
    LIBRARY,
    LIBRARY_STYLE,
    embedded,
    graph_data,
    notebook_html,
    report_html,
    setting_rows,
    source_of_page,
    write_report,
)
from drbo.result.result import Result
from tests.results import make_result

HOSTILE = ("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", '"><svg onload=alert(3)>', "{{ 7*7 }}")


def a_result(names=("rain", "wet", "slip", "sun"), **changes):
    d = len(names)
    dag = np.zeros((d, d), dtype=bool)
    dag[0, 2] = dag[1, 2] = dag[2, 3] = True
    weights = np.where(dag, [[0.9], [-0.3], [0.5], [0.0]], 0.0)
    values = {
        "names": names,
        "score": -12.0,
        "pruned_score": -12.0,
        "weights": 2 * weights,
        "standardised_weights": weights,
        "n_rows": 321,
        "argv": ("drbo", "fit", "table.csv", "--seed", "3"),
        "reasons": ("score bic-nv: because",),
        "settings": {"dropout": 0.3, "rank": 8},
        "audit": Audit(
            (ColumnFacts(name=names[0], kind="numeric", distinct=3, mean=1.0, sd=2.0, min=0.0, max=3.0,
                         counts=(1, 2, 1)),
             ColumnFacts(name=names[1], kind="categorical", distinct=2, levels=("yes", "no"), counts=(2, 2))),
            (Finding("rows", "too few", serious=True),),
        ),
        "knowledge": Knowledge(required=[(names[2], names[3])]),
        "trace": {"n_evals": [1, 9, 20], "n_local": [4, 9, 12], "seconds": [0.1, 0.2, 0.3],
                          "best": [-np.inf, -20.0, -12.0]},
    }  # fmt: skip
    return make_result(dag, **(values | changes))


def test_where_another_run_may_end_elsewhere_the_page_says_so():
    words = "another run may find a different graph"
    assert words in report_html(a_result(stop=Stop.TIME_LIMIT))
    assert words not in report_html(a_result(stop=Stop.BUDGET))


def test_the_library_fits_into_a_script_element():
    library = source_of_page(LIBRARY)
    assert "</script" not in library.lower()
    assert "<!--" not in library
    prefix = LIBRARY_STYLE.split(" {")[0].removeprefix(".")
    assert f'"{prefix}"' in library
    assert '" { position: relative; }"' in library


def test_everything_is_said():
    text = report_html(a_result())
    words = (
        "321",
        "drbo fit table.csv --seed 3",
        "score bic-nv: because",
        "too few",
        "duong2025causal",
        "+0.90",
        "−0.30",
    )
    for word in (
        *words,
        "hidden common cause",
        "required edges",
        "<polyline",
        "changed",
        "Hollow arrow",
        "What to ask",
    ):
        assert word in text


def test_nothing_is_loaded_from_elsewhere():
    text = report_html(a_result())
    own = text.replace(source_of_page(LIBRARY), "")
    assert not re.search(r'(src|href)="(?!#)', own)
    assert "url(" not in own
    assert "default-src &#39;none&#39;" in own
    assert "unsafe" not in own.split("</head>")[0]


def test_the_same_result_gives_the_same_file(tmp_path):
    first, second = write_report(a_result(), tmp_path / "a.html"), write_report(a_result(), tmp_path / "b.html")
    assert first.read_bytes() == second.read_bytes()


def test_hostile_names_stay_text_in_the_source():
    text = report_html(a_result(names=HOSTILE, line=HOSTILE[1], reasons=HOSTILE, found_by=HOSTILE[0]))
    own = text.replace(source_of_page(LIBRARY), "")
    assert "<img" not in own
    assert "onload=alert(3)>" not in own
    assert own.count("<script") == 4
    assert "{{ 7*7 }}" in own


@pytest.mark.parametrize("changes", [{}, {"weights": None, "standardised_weights": None}, {"score_equivalent": False}])
def test_results_of_all_kinds_have_a_report(changes):
    assert "</html>" in report_html(a_result(**changes))


def test_a_bare_result_has_a_report():
    text = report_html(Result(names=("a",), dag=[[0]], pruned_score=0.0, search=SearchRecord(dag=[[0]], score=0.0),
                              scoring=Scoring(name="own", equivalent=False)))  # fmt: skip
    assert "The graph has no edges" in text
    assert "rest on the assumptions of the score own" in text


def test_columns_of_the_edges_that_nobody_foresaw_are_shown(monkeypatch):
    table = a_result().edges().assign(margin_removed=[4.5, 3.5, np.nan], own_column=["x", "y", "z"])
    monkeypatch.setattr(Result, "edges", lambda self: table)
    text = report_html(a_result())
    assert "own column" in text
    assert "if removed" in text
    assert ">4.5</td>" in text


def test_embedded_json_reads_back():
    value = {"name": "</script>&\u2028", "list": [1, 2.5, None]}
    text = embedded(value)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == value | {"name": "</script>&\\u2028"}  # written out


def test_characters_that_hide_or_turn_text_are_written_out():
    names = ("rain\u202egpj", "wet\x1b[31m", "slip\u2066", "sun\x00")
    result = a_result(names=names, line="\u202e", reasons=names, found_by=names[0])
    for text in (report_html(result), graph_svg(result), Drawing.of(result).svg("title \u202e"), notebook_html(result)):
        own = text.replace(source_of_page(LIBRARY), "")
        assert [c for c in own if not c.isprintable() and c not in "\n\t"] == []
        assert "rain\\u202egpj" in own
    assert graph_data(Drawing.of(result), Content(result))["call"] == ""  # its options would be others


def test_changed_settings_come_first():
    rows = setting_rows({"rank": 8, "dropout": 0.3, "of another version": None})
    assert (rows[0]["name"], rows[0]["changed"]) == ("dropout", True)
    assert rows[-1]["value"] == "not set"


def test_a_notebook_shows_the_graph_without_a_program():
    text = a_result(names=HOSTILE)._repr_html_()
    assert "<svg" in text
    assert "<script" not in text
    assert "<img" not in text


class TestInTheBrowser:
    @pytest.fixture
    def opened(self, browser, tmp_path):
        browser.open(write_report(a_result(), tmp_path / "report.html"))
        return browser

    def test_it_opens_without_complaints(self, opened):
        assert opened.run("document.querySelector('h1').textContent") == "Causal graph of table.csv"
        assert opened.run("drbo.cy.edges().length") == 3
        assert opened.run("getComputedStyle(document.getElementById('picture')).display") == "none"
        assert opened.complaints == []

    def test_a_click_on_an_edge_shows_what_is_known_about_it(self, opened):
        opened.run("document.getElementById('canvas').scrollIntoView({ behavior: 'instant' })")
        for _ in range(20):  # a busy machine may still be laying out the page
            place = opened.run(
                "(() => { const box = document.getElementById('canvas').getBoundingClientRect();"
                " const p = drbo.cy.getElementById('e0').renderedMidpoint(); return [box.x + p.x, box.y + p.y]; })()"
            )
            opened.click(*place)
            opened.run("new Promise(done => setTimeout(done, 50))")
            if opened.run("document.getElementById('details-title').textContent") != "Details":
                break
        assert opened.run("document.getElementById('details-title').textContent") == "rain ⇾ slip"
        details = opened.run("document.getElementById('details-list').textContent")
        assert "assumed" in details
        assert "+0.90" in details
        assert opened.run("document.querySelector('#edge-table tr.chosen td').textContent") == "rain"

    def test_a_row_of_the_table_chooses_its_edge(self, opened):
        opened.run("document.querySelectorAll('#edge-table tbody tr')[1].click()")
        assert opened.run("document.getElementById('details-title').textContent") == "wet ⇾ slip"
        assert opened.run("drbo.cy.getElementById('e1').style('target-arrow-fill')") == "hollow"
        heads = opened.run("drbo.cy.edges().map(edge => edge.style('target-arrow-fill'))")
        assert heads.count("filled") == 1  # the required edge
        assert opened.run("drbo.cy.getElementById('e1').hasClass('chosen')")

    def test_the_filter_filters_graph_and_table(self, opened):
        opened.run(
            "(() => { const slide = document.getElementById('least'); slide.value = 0.4;"
            " slide.dispatchEvent(new Event('input')); })()"
        )
        for _ in range(50):  # the drawing follows with its next frame
            if opened.run("drbo.cy.edges(':visible').length") == 2:
                break
            time.sleep(0.1)
        assert opened.run("drbo.cy.edges(':visible').length") == 2
        assert opened.run("document.querySelectorAll('#edge-table tbody tr:not([hidden])').length") == 2
        assert opened.run("document.getElementById('count').textContent") == "2 of 3 edges"

    def test_a_variable_is_found(self, opened):
        opened.run(
            "(() => { const box = document.getElementById('find'); box.value = 'slip';"
            " box.dispatchEvent(new Event('input')); })()"
        )
        assert opened.run("document.getElementById('details-title').textContent") == "slip"
        assert opened.run("drbo.cy.nodes('.found').length") == 1

    def test_a_name_that_nothing_has_is_said(self, opened):
        opened.run(
            "(() => { const box = document.getElementById('find'); box.value = 'snow';"
            " box.dispatchEvent(new Event('input')); })()"
        )
        assert opened.run("document.getElementById('count').textContent") == "No variable has this name"

    def test_what_is_known_becomes_a_command(self, opened):
        command = "document.getElementById('again-command').textContent"
        opened.run("document.querySelectorAll('#edge-table tbody tr')[0].click()")
        opened.run("document.querySelector('[data-mark=forbid]').click()")
        assert opened.run(command) == "drbo fit table.csv --seed 3 --forbid 'rain->slip'"
        opened.run("document.querySelector('[data-mark=require]').click()")
        assert opened.run(command) == "drbo fit table.csv --seed 3 --require 'rain->slip'"
        for node, tier in ((0, 1), (2, 2)):
            opened.run(
                f"(() => {{ drbo.cy.getElementById('n{node}').emit('tap');"
                f" const box = document.getElementById('tier-number');"
                f" box.value = {tier}; box.dispatchEvent(new Event('input')); }})()"
            )
        assert opened.run(command) == "drbo fit table.csv --seed 3 --require 'rain->slip' --tiers 'rain;slip'"
        opened.run("document.getElementById('forget').click()")
        assert opened.run("document.getElementById('again').hidden")

    def test_names_that_options_cannot_carry_become_a_call(self, browser, tmp_path):
        browser.open(write_report(a_result(names=("it's", "b;c", "d", "e")), tmp_path / "report.html"))
        command = "document.getElementById('again-command').textContent"
        browser.run("document.querySelectorAll('#edge-table tbody tr')[0].click()")
        browser.run("document.querySelector('[data-mark=reverse]').click()")
        assert browser.run(command) == "drbo fit table.csv --seed 3 --forbid 'd->it'\\''s'"
        browser.run("document.querySelectorAll('#edge-table tbody tr')[1].click()")
        browser.run("document.querySelector('[data-mark=require]').click()")
        assert browser.run(command) == 'knowledge=Knowledge(forbidden=[["d","it\'s"]], required=[["b;c","d"]])'

    def test_graph_and_edges_can_be_saved(self, browser, tmp_path):
        browser.open(write_report(a_result(names=("=1+1", "wet", "slip", "sun")), tmp_path / "report.html"))
        rows = browser.run("drbo.saved.csv()").splitlines()
        assert rows[0].startswith('"cause","effect","direction"')
        assert rows[1].startswith('"\'=1+1","slip","assumed"')
        picture = browser.run("drbo.saved.svg()")
        assert picture.startswith("<svg")
        assert "<style" in picture
        browser.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        for ending, start in (("png", b"\x89PNG"), ("svg", b"<svg"), ("csv", b"\xef\xbb\xbf")):
            browser.run(f"document.getElementById('save-{ending}').click()")
            saved = tmp_path / f"graph.{ending}"
            for _ in range(100):
                if saved.exists() and saved.stat().st_size:
                    break
                time.sleep(0.05)
            assert saved.read_bytes().startswith(start)
        assert browser.complaints == []

    def test_a_title_sorts_the_table(self, opened):
        opened.run("document.querySelectorAll('#edge-table th')[6].click()")
        cells = "Array.from(document.querySelectorAll('#edge-table tbody tr')).map(row => row.children[6].textContent)"
        assert [cell.strip() for cell in opened.run(cells)] == ["+0.90", "+0.50", "−0.30"]

    def test_hostile_names_stay_text(self, browser, tmp_path):
        browser.open(write_report(a_result(names=HOSTILE), tmp_path / "report.html"))
        assert browser.run("document.querySelectorAll('img').length") == 0
        assert browser.run("document.querySelector('#edge-table td').textContent") == HOSTILE[0]
        browser.run("document.querySelectorAll('#edge-table tbody tr')[0].click()")
        assert HOSTILE[0] in browser.run("document.getElementById('details-title').textContent")
        assert browser.run("document.querySelectorAll('img').length") == 0
        assert browser.complaints == []

    def test_without_a_program_the_picture_is_there(self, browser, tmp_path):
        browser.open(write_report(a_result(), tmp_path / "report.html"), script=False)
        answer = browser.send("DOM.getDocument", depth=-1)
        text = json.dumps(answer)
        assert "picture" in text
        assert "slip" in text
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
        assert browser.run("getComputedStyle(document.getElementById('picture')).display") == "block"

    @pytest.mark.parametrize("width", [390, 1280])
    def test_the_page_is_not_wider_than_the_screen(self, browser, tmp_path, width):
        browser.open(write_report(a_result(), tmp_path / "report.html"), width=width)
        assert browser.run("document.documentElement.scrollWidth") == width

    def test_the_frame_takes_the_height_of_the_graph(self, browser, tmp_path):
        path = write_report(a_result(), tmp_path / "report.html")
        for width in (390, 1400):
            browser.open(path, width=width)
            frame, graph = browser.run("[drbo.cy.height(), drbo.cy.elements().renderedBoundingBox().h]")
            assert frame == pytest.approx(max(220, graph + 36), abs=2)

    def test_dark_and_print_have_their_own_colours(self, browser, tmp_path):
        path = write_report(a_result(), tmp_path / "report.html")
        ground = "getComputedStyle(document.body).backgroundColor"
        browser.open(path)
        light = browser.run(ground)
        browser.open(path, dark=True)
        assert browser.run(ground) != light
        browser.send("Emulation.setEmulatedMedia", media="print", features=[])
        assert browser.run("getComputedStyle(document.getElementById('picture')).display") == "block"
        assert browser.run("getComputedStyle(document.getElementById('canvas')).display") == "none"

    def test_a_hundred_nodes_stay_usable(self, browser, tmp_path, rng):
        dag = np.triu(rng.random((100, 100)) < 0.04, 1)
        weights = np.where(dag, 0.5, 0.0)
        names = tuple(f"variable {k}" for k in range(100))
        trace = vars(a_result(names=("a", "b", "c", "d")).search.trace)
        result = make_result(dag, names=names, weights=weights, standardised_weights=weights, trace=trace)
        path = write_report(result, tmp_path / "report.html")
        assert path.stat().st_size < 2_000_000
        start = time.perf_counter()
        browser.open(path)
        browser.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert time.perf_counter() - start < 10  # 0.5 s on an idle machine; a busy one must not fail
        assert browser.run("drbo.cy.nodes().length") == 100
        assert browser.run("10.5 * drbo.cy.zoom()") >= 9  # pixels of a label
        box = browser.run("drbo.cy.elements().renderedBoundingBox()")
        size = browser.run("[drbo.cy.width(), drbo.cy.height()]")
        for low, high, room in ((box["x1"], box["x2"], size[0]), (box["y1"], box["y2"], size[1])):
            assert (low < 20 and high > room - 20) or abs(low + high - room) < 2  # no room is left empty on one side
        browser.run("void drbo.cy.getElementById('n50').emit('tap')")
        browser.run("document.getElementById('near').click()")
        near = 1 + int((dag | dag.T)[50].sum())
        assert browser.run("drbo.cy.nodes(':visible').length") == near
        assert browser.complaints == []
