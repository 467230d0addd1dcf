"""The report in a headless Chromium: how large it is, how long it takes to open, and the pictures of the docs.

python -m benchmarks pages                      # sizes, seconds, and how large labels are
python -m benchmarks pages --part pictures      # docs/images/*.png, from the run of drbo demo; make pictures
python -m benchmarks pages --part axe --library node_modules/axe-core/axe.min.js --site build/docs
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Annotated

import pandas as pd

from benchmarks.gran_dag import Unavailable
from benchmarks.parameters import Graphs
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO, Result
from drbo.data.files.datasets import load
from drbo.data.files.simulate import simulate
from drbo.result.report.comparison import write_comparison
from tests.result.report.conftest import Browser, start

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZES = {"desktop": (1280, 1240), "phone": (390, 844)}
#: Whether the whole graph is in its frame.
WHOLE = """(() => { const box = drbo.cy.elements().renderedBoundingBox();
 return box.x1 >= 0 && box.y1 >= 0 && box.x2 <= drbo.cy.width() && box.y2 <= drbo.cy.height(); })()"""
#: Two frames after the load event: the graph has been drawn.
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@contextmanager
def browser() -> Iterator[tuple[Browser, Path]]:
    """Yield a browser and a folder for its pages."""
    opened = start()
    if opened is None:
        raise Unavailable("no Chromium is installed")
    with tempfile.TemporaryDirectory() as folder:
        yield opened, Path(folder)
    opened.close()


def sachs() -> Result:
    """Return the result of the proteins in ``drbo demo``."""
    known = load("sachs")
    frame = pd.DataFrame(known.X, columns=list(known.names))
    return replace(DrBO(random_state=0).fit(frame).result_, argv=("drbo", "demo"))


def simulated(graph: str, seconds: float) -> Result:
    """Return the result of a search on simulated data."""
    return DrBO(score="bic-ev", time_limit=seconds, random_state=0).fit(simulate(graph, "linear", seed=0).X).result_


def opened(window: Browser, path: Path) -> float:
    """Return the CPU seconds of a page without complaints, from the request to the second frame."""
    window.send("Performance.setTimeDomain", timeDomain="threadTicks")
    window.send("Performance.enable")
    window.open(path)
    window.run(DRAWN)
    metrics = {one["name"]: one["value"] for one in window.send("Performance.getMetrics")["metrics"]}
    window.send("Performance.disable")
    seconds = float(metrics["TaskDuration"])
    if window.complaints:
        raise RuntimeError(f"{path.name}: {window.complaints}")
    return seconds


def measured(window: Browser, name: str, result: Result, folder: Path) -> Row:
    """Return the row of a report."""
    path = result.report(folder / "report.html")
    times = [opened(window, path) for _ in range(5)]
    nodes, edges = len(result.names), int(result.dag.sum())
    row: Row = {"data": name, "nodes": nodes, "edges": edges, "bytes": path.stat().st_size}
    for device, (width, height) in {"desktop": (1400, 900), "phone": SIZES["phone"]}.items():
        window.open(path, width=width, height=height)
        window.run(DRAWN)
        row[f"{device}_label_pixels"] = round(window.run("10.5 * drbo.cy.zoom()"), 1)
        row[f"{device}_whole"] = window.run(WHOLE)
    return {**row, "median_cpu_seconds": round(median(times), 3), "longest_cpu_seconds": round(max(times), 3)}


@study("pages", "data machine", graphs=("10ER1",), seconds=2.0)
def run(
    graphs: Graphs = ("60ER2", "100ER2", "100ER4"), seconds: Annotated[float, "time limit of a fit"] = 20.0
) -> Iterator[Row]:
    """Yield the rows of Sachs and of simulated graphs."""
    with browser() as (window, folder):
        yield measured(window, "Sachs, as in drbo demo", sachs(), folder)
        for graph in graphs:
            yield measured(window, graph, simulated(graph, seconds), folder)


@study("pages", "data machine", slow=True)
def pictures() -> Iterator[Row]:
    """Draw the report of the demo with its first edge chosen, on a desk and on a phone, light and dark; no rows.

    Two runs side by side are the demo and the same with a score of categories.
    """
    with browser() as (window, pages):
        demo = sachs()
        path = demo.report(pages / "report.html")
        for device, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                window.open(path, width=width, height=height, dark=scheme == "dark")
                window.run("document.querySelector('#edge-table tbody tr').click()")
                window.run("document.getElementById('words').scrollIntoView({ behavior: 'instant' })")
                window.run("new Promise(done => setTimeout(done, 600))")
                window.picture(IMAGES / f"report-{device}-{scheme}.png")
        known = load("sachs")
        other = DrBO(score="bge", random_state=0).fit(pd.DataFrame(known.X, columns=list(known.names))).result_
        both = write_comparison((demo, other), ("demo", "demo-bge"), pages / "compare.html")
        window.open(both, width=1280, height=1000)
        window.picture(IMAGES / "compare.png")
    yield from ()


def violations(window: Browser, path: Path, program: str) -> list[str]:
    """Return what axe-core complains about on a page: its rules, by name, each with its number of places."""
    window.open(path)
    window.run(DRAWN)
    window.run(program)
    rules = (
        "axe.run({ resultTypes: ['violations'] }).then(done => done.violations.map(one => [one.id, one.nodes.length]))"
    )
    found = window.run(rules)
    return [f"{name} ({count})" for name, count in found]


@study("axe", "page machine", slow=True)
def axe(
    library: Annotated[str, "file axe.min.js of axe-core (npm install axe-core)"] = "node_modules/axe-core/axe.min.js",
    site: Annotated[str, "folder of the built docs"] = "build/docs",
) -> Iterator[Row]:
    """Look for barriers on every page of the docs, in a report and in a comparison."""
    program, folder = Path(library).read_text(), Path(site)
    with browser() as (window, pages):
        demo = sachs()
        own = [demo.report(pages / "report.html")]
        own.append(write_comparison((demo, demo), ("demo", "again"), pages / "compare.html"))
        pages_of_site = sorted(path for path in folder.rglob("*.html") if "_modules" not in path.parts)  # not the code
        for page in [*own, *pages_of_site]:
            name = f"own {page.name}" if page in own else page.relative_to(folder).as_posix()
            found = violations(window, page, program)
            yield {"page": name, "violations": len(found), "rules": "; ".join(found)}
