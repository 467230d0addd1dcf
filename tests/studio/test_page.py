"""The page in a real browser: a messy table is opened, told what is known, searched, asked, closed and reopened."""

import json
import time
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest

from tests.studio.conftest import Browser

PATIENCE = 180  # seconds; nothing here is a measurement


class Page:
    """A page of the studio in the browser."""

    def __init__(self, browser: Browser, address: str, **how: object) -> None:
        self.browser = browser
        browser.open("about:blank")  # the page of a studio that has ended goes on asking for it
        browser.open(address, **{"width": 1400, "height": 1000, **how})  # type: ignore[arg-type]

    def run(self, program: str):
        return self.browser.run(program)

    def until(self, condition: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.run(condition):
            assert time.monotonic() < end, (condition, self.run("document.body.innerText"), self.browser.complaints)
            time.sleep(0.1)

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def text(self, selector: str) -> str:
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def middle(self, selector: str) -> tuple[float, float]:
        where = json.dumps(selector)
        x, y = self.run(
            f"(() => {{ const r = document.querySelector({where}).getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return x, y

    def drag(self, card: str, tier: int) -> None:
        self.run("document.querySelector('#tiers').scrollIntoView({block: 'center', behavior: 'instant'})")
        start, end = self.middle(f".card[data-name='{card}']"), self.middle(f"[data-tier='{tier}']")
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", (start[0] + 20, start[1])), ("mouseMoved", end),
                             ("mouseReleased", end)):  # fmt: skip
            self.browser.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def key(self, name: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.browser.send("Input.dispatchKeyEvent", type=kind, key=name, code=name)


IDLE = "document.querySelector('#status').textContent === '' && !document.querySelector('#result').hidden"


def test_a_session_from_a_messy_table_to_its_command(browser, studio, place: Path):
    opened = studio("table.csv", "-o", "run")
    page = Page(browser, opened.address)
    page.until("document.querySelectorAll('#columns tbody tr').length === 5")
    assert "id" in page.text("#findings")
    page.click("#solve")
    page.until("document.querySelector('#columns tr.dropped') !== null")
    # Tiers: one column by the keyboard, which keeps the focus, and one by the mouse.
    page.run("document.querySelector(\".card[data-name='age']\").focus()")
    page.key("ArrowRight")
    page.until("document.querySelectorAll('.tier').length === 3")
    assert page.run("document.activeElement.dataset.name") == "age"
    page.drag("dose", 2)
    page.until("document.querySelectorAll('.tier').length === 4")
    assert "dose: tier 2" in page.text("#statements")
    labels = page.run("Array.from(document.querySelectorAll('#statements button'), (button) => button.ariaLabel)")
    assert "Remove: age: tier 1" in labels
    page.click("#fit")
    page.until(IDLE)
    # Look: why an edge is there. Then forbid it: the price and the new graph.
    page.run("void drbo.cy.edges()[0].emit('tap')")
    assert page.run("document.querySelectorAll('#details-list dt').length") > 3
    page.until("document.querySelectorAll('#scatter circle').length > 100")
    assert "in standard deviations" in page.text("#scatter figcaption")
    title = page.text("#details-title")
    page.run("document.querySelector('#version-name').value = '<i>first</i>'")
    page.click("#keep button")
    page.until("document.querySelector('#version-list').textContent.includes('<i>first</i>: the last one')")
    page.click("[data-mark='forbid']")
    page.until("!document.querySelector('#price').hidden")
    page.until("document.querySelector('#price-words').textContent.includes('costs')")
    page.until(IDLE)
    names = "Array.from(document.querySelectorAll('#edges tbody tr'), (row) => row.innerText)"
    assert title not in page.run(names)
    page.run("void drbo.cy.nodes('.variable')[0].emit('tap')")
    page.click("#effect")
    page.until("document.querySelector('#effect-words').textContent.includes('effect')")
    # A second tab sees the same, and an edit in one place shows in the other.
    opened.post("edit", {"do": "undo"})
    page.until("!document.querySelector('#statements').textContent.includes('no direct cause')")
    page.until(IDLE)
    page.until("document.querySelector('#beside').href.endsWith('compare?a=0&b=')")
    with urlopen(page.run("document.querySelector('#beside').href"), timeout=PATIENCE) as answer:
        assert b"&lt;i&gt;first&lt;/i&gt;" in answer.read()
    if not page.run("document.querySelector('#ask').hidden"):
        page.run("document.querySelector('#sure').value = '60'")
        page.click("#only-a")
        page.until("document.querySelector('#statements').textContent.includes('60% sure')")
        page.until(IDLE)
    assert browser.complaints == []
    command, state = page.text("#command"), opened.state()
    assert command == state["command_line"]
    for name in ("report.html", "edges.csv", "graph.svg", "result.json", "studio.json"):
        assert (place / "run" / name).stat().st_mode & 0o077 == 0
    assert opened.close() == 0
    page.until("document.querySelector('#status').textContent.includes('ended')")
    again = studio("table.csv", "-o", "run")
    page = Page(browser, again.address, width=390, height=844, dark=True)
    page.until(IDLE)
    assert page.text("#command") == command
    assert page.run("document.documentElement.scrollWidth") <= 390
    assert [one["words"] for one in again.state()["statements"]] == [one["words"] for one in state["statements"]]


def test_a_search_is_stopped_and_continued(browser, studio, place: Path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 60))
    for k in range(6, 60):  # dense enough for many seconds of searching
        x[:, k] += x[:, rng.choice(k, 6, replace=False)] @ rng.choice([-0.4, 0.4], 6)
    pd.DataFrame(x).add_prefix("x").to_csv(place / "wide.csv", index=False)
    page = Page(browser, studio("wide.csv", "-o", "wide").address)
    page.until("document.querySelectorAll('#columns tbody tr').length === 60")
    page.click("#fit")
    page.until("document.querySelector('#progress').textContent.includes('evaluat')")
    page.click("#stop")
    page.until(IDLE)
    assert not page.run("document.querySelector('#resume').hidden")
    page.click("#resume")
    page.until(f"{IDLE} && document.querySelector('#resume').hidden")
    assert "edges" in page.text("#headline")
    assert browser.complaints == []


#: axe-core is not a part of drbo: make axe takes it from npm.
AXE = Path(__file__).parents[2] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not there: make axe takes it from npm")
@pytest.mark.parametrize(("dark", "width"), [(False, 1400), (True, 1400), (False, 390)])
def test_axe_finds_no_barrier(browser, studio, dark, width):
    opened = studio("table.csv", "-o", "run")
    page = Page(browser, opened.address, dark=dark, width=width)
    page.until("document.querySelectorAll('#columns tbody tr').length === 5")
    page.click("#solve")
    page.until("document.querySelector('#columns tr.dropped') !== null")
    page.click("#fit")
    page.until(IDLE)
    page.run("document.querySelector('#as-table').open = document.querySelector('#versions').open = true")
    page.click("#edges tbody button")
    page.until("!document.querySelector('#scatter').hidden")
    page.run(AXE.read_text())
    where = "done.violations.map((one) => [one.id, one.nodes.map((node) => node.html)])"
    found = page.run(f"axe.run({{ resultTypes: ['violations'] }}).then((done) => {where})")
    assert found == []


def test_hostile_names_stay_text(browser, studio, place: Path):
    opened = studio("-o", "run")
    page = Page(browser, opened.address)
    page.until("document.querySelector('#drop') !== null")
    assert page.run("document.querySelector('#know').hidden")
    opened.post("table?name=x.csv", _table())
    page.until("document.querySelectorAll('#columns tbody tr').length === 5")
    page.click("#fit")
    page.until(IDLE)
    # Every view: why, residuals, effect, levels, tiers, question, a version, and two of them side by side.
    for row in range(page.run("document.querySelectorAll('#edges tbody tr').length")):
        page.run(f"document.querySelectorAll('#edges tbody button')[{row}].click()")
    page.until("!document.querySelector('#scatter').hidden")
    page.run("void drbo.cy.nodes('.variable')[0].emit('tap')")
    page.click("#effect")
    page.until("document.querySelector('#effect-words').textContent.length > 20")
    page.run("document.querySelector('#version-name').value = '<img src=x onerror=alert(4)>'")
    page.click("#keep button")
    page.until("document.querySelector('#version-list').textContent.includes('<img')")
    opened.post("edit", {"do": "tier", "name": NAMES[0], "to": 1})
    page.until("document.querySelector('#price-words').textContent.includes('tier 1')")
    beside = page.run("document.querySelector('#beside').href")
    page.until(IDLE)
    assert page.run("document.querySelectorAll('img, script:not([src])').length") == 0
    page.run("document.getElementById('from').value = 'a->b;c'; document.getElementById('to').value = 'last'")
    page.click("#pair button")
    page.until("document.querySelector('#statements').textContent.includes('a->b;c is no direct cause of last')")
    page.until(IDLE)
    assert browser.complaints == []
    assert page.run("document.querySelectorAll('img, script:not([src])').length") == 0
    assert "--knowledge" in page.text("#command")
    browser.open(beside, width=1400, height=1000)
    assert browser.complaints == []
    assert page.run("document.querySelectorAll('img').length") == 0


NAMES = ['<img src=x onerror="alert(1)">', "</script><script>alert(2)</script>", "a->b;c", "last", "kind"]


def _table() -> bytes:
    """Return a table whose names are markup, and would break the options of a command."""
    head = ",".join('"' + name.replace('"', '""') + '"' for name in NAMES)
    level = ("<svg onload=alert(3)>", "</script>")
    rows = [f"{k % 7},{k % 7 + (3 * k) % 11},{(5 * k * k) % 13},{k % 5}.5,{level[k * k % 3 % 2]}" for k in range(90)]
    return "\n".join([head, *rows, ""]).encode()


@pytest.mark.parametrize("kill", [False, True])
def test_a_studio_that_ends_while_it_searches_loses_no_statement(studio, kill):
    opened = studio("table.csv", "-o", "run")
    while opened.state()["columns"] is None:
        time.sleep(0.05)
    opened.post("edit", {"do": "drop", "name": "id"})
    opened.post("edit", {"do": "tier", "name": "age", "to": 1})
    opened.post("fit")
    while opened.state()["phase"] != "searching":
        time.sleep(0.05)
    assert opened.close(kill=kill) == (-9 if kill else 0)
    again = studio("table.csv", "-o", "run")
    words = [one["words"] for one in again.state()["statements"]]
    assert words == ["id is left out", "age: tier 1"]
    assert again.state()["error"] is None
