"""The report in a headless Chromium: how large it is, how long it takes to open, and the pictures of the docs.

python -m benchmarks pages                      # sizes and seconds
python -m benchmarks pages --part pictures      # docs/images/report-*.png, from the run of drbo demo
"""

import tempfile
import time
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
from drbo.data.datasets import load
from drbo.data.simulate import simulate
from tests.result.report.conftest import Browser, start

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZES = {"desktop": (1280, 1240), "phone": (390, 844)}
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
    """Return the result of ``drbo demo``."""
    known = load("sachs")
    frame = pd.DataFrame(known.X, columns=list(known.names))
    return replace(DrBO(random_state=0).fit(frame).result_, call="drbo demo")


def simulated(graph: str, seconds: float) -> Result:
    """Return the result of a search on simulated data."""
    return DrBO(score="bic-ev", time_limit=seconds, random_state=0).fit(simulate(graph, "linear", seed=0).X).result_


def opened(window: Browser, path: Path) -> float:
    """Return the seconds from the request to the second frame of a page without complaints."""
    begin = time.perf_counter()
    window.open(path)
    window.run(DRAWN)
    seconds = time.perf_counter() - begin
    if window.complaints:
        raise RuntimeError(f"{path.name}: {window.complaints}")
    return seconds


def measured(window: Browser, name: str, result: Result, folder: Path) -> Row:
    """Return the row of a report."""
    path = result.report(folder / "report.html")
    times = [opened(window, path) for _ in range(5)]
    nodes, edges = len(result.names), int(result.dag.sum())
    row: Row = {"data": name, "nodes": nodes, "edges": edges, "bytes": path.stat().st_size}
    return {**row, "median_seconds": round(median(times), 3), "longest_seconds": round(max(times), 3)}


@study("pages", "data machine", graphs=("10ER1",), seconds=2.0)
def run(
    graphs: Graphs = ("100ER2", "100ER4"), seconds: Annotated[float, "time limit of a fit"] = 20.0
) -> Iterator[Row]:
    """Yield the rows of Sachs and of simulated graphs."""
    with browser() as (window, folder):
        yield measured(window, "Sachs, as in drbo demo", sachs(), folder)
        for graph in graphs:
            yield measured(window, graph, simulated(graph, seconds), folder)


@study("pages", "data machine", slow=True)
def pictures() -> Iterator[Row]:
    """Draw the report of the demo with its first edge chosen, on a desk and on a phone, light and dark; no rows."""
    with browser() as (window, pages):
        path = sachs().report(pages / "report.html")
        for device, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                window.open(path, width=width, height=height, dark=scheme == "dark")
                window.run("document.querySelector('#edge-table tbody tr').click()")
                window.run("document.getElementById('words').scrollIntoView({ behavior: 'instant' })")
                window.run("new Promise(done => setTimeout(done, 600))")
                window.picture(IMAGES / f"report-{device}-{scheme}.png")
    yield from ()
