"""The report in a headless Chromium: how large it is, how long it takes to open, and the pictures of the docs.

python -m benchmarks pages                 # sizes and seconds, into rows/pages.csv and docs/report.md
python -m benchmarks pages --pictures      # docs/images/report-*.png, from the run of drbo demo
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from benchmarks import rows as table
from drbo import DrBO, Result
from drbo.data.datasets import load
from drbo.data.simulate import simulate
from tests.result.report.conftest import Browser, start

DOCS = Path(__file__).parents[2] / "docs"
KEY = ("data", "machine")
SIZES = {"desktop": (1280, 960), "phone": (390, 844)}
#: Two frames after the load event: the graph has been drawn.
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def sachs() -> Result:
    """Return the result of ``drbo demo``."""
    known = load("sachs")
    frame = pd.DataFrame(known.X, columns=list(known.names))
    return replace(DrBO(random_state=0).fit(frame).result_, call="drbo demo")


def simulated(graph: str, seconds: float) -> Result:
    return DrBO(score="bic-ev", time_limit=seconds, random_state=0).fit(simulate(graph, "linear", seed=0).X).result_


def opened(browser: Browser, path: Path) -> float:
    """Return the seconds from the request to the second frame of a page without complaints."""
    begin = time.perf_counter()
    browser.open(path)
    browser.run(DRAWN)
    seconds = time.perf_counter() - begin
    if browser.complaints:
        raise RuntimeError(f"{path.name}: {browser.complaints}")
    return seconds


def measured(browser: Browser, name: str, result: Result, folder: Path) -> dict[str, Any]:
    path = result.report(folder / "report.html")
    times = [opened(browser, path) for _ in range(5)]
    nodes, edges = len(result.names), int(result.dag.sum())
    row = {"data": name, "nodes": nodes, "edges": edges, "bytes": path.stat().st_size}
    row |= {"median_seconds": round(median(times), 3), "longest_seconds": round(max(times), 3)} | table.stamp("cpu")
    print(row, flush=True)
    return row


def pictures(browser: Browser, folder: Path) -> None:
    """Draw the report of the demo with its first edge chosen, on a desk and on a phone, light and dark."""
    path = sachs().report(folder / "report.html")
    for device, (width, height) in SIZES.items():
        for scheme in ("light", "dark"):
            browser.open(path, width=width, height=height, dark=scheme == "dark")
            browser.run("document.querySelector('#edge-table tbody tr').click()")
            browser.run("scrollTo(0, 0)")
            browser.run("new Promise(done => setTimeout(done, 600))")
            browser.picture(DOCS / "images" / f"report-{device}-{scheme}.png")


def page(rows: list[dict[str, Any]]) -> str:
    lines = ["| report of | variables | edges | size | opens in | longest of five | machine |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for row in rows:
        size, opens, longest = int(row["bytes"]) / 1e6, float(row["median_seconds"]), float(row["longest_seconds"])
        lines.append(
            f"| {row['data']} | {row['nodes']} | {row['edges']} | {size:.2f} MB | {opens:.2f} s | {longest:.2f} s "
            f"| {row['machine']} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default="100ER2,100ER4", help="simulated graphs beside Sachs")
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of a fit")
    parser.add_argument("--pictures", action="store_true", help="only draw the pictures of the docs")
    parser.add_argument("--save", type=Path, default=table.FOLDER / "pages.csv")
    options = parser.parse_args(arguments)
    browser = start()
    if browser is None:
        raise SystemExit("no Chromium is installed")
    with tempfile.TemporaryDirectory() as folder:
        if options.pictures:
            pictures(browser, Path(folder))
        else:
            rows = [measured(browser, "Sachs, as in drbo demo", sachs(), Path(folder))]
            for graph in filter(None, options.graphs.split(",")):
                rows.append(measured(browser, graph, simulated(graph, options.seconds), Path(folder)))
            table.save(options.save, rows, KEY)
            if options.save == table.FOLDER / "pages.csv":
                table.fill(DOCS / "report.md", "pages", page(table.load(options.save)))
    browser.close()
