"""docs/speed.md and its plots, made from the rows of ``python -m benchmarks speed``."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks import rows as table
from benchmarks.studies.speed import area_ratios, geometric_mean

DOCS = Path(__file__).parents[2] / "docs"
#: The authors' program: milliseconds an iteration at C = 100,000 (its own setting), on a 2-core machine and an H200.
AUTHORS = {("cpu", 10): 6_500, ("cpu", 30): 14_000, ("cuda", 30): 3_300, ("cuda", 100): 11_500}
COLOURS = {"fast": "#0072b2", "paper": "#d55e00"}


def load(part: str) -> list[table.Row]:
    return table.load(table.FOLDER / f"speed_{part}.csv")


def markdown(header: list[str], lines: list[list[object]]) -> str:
    rule = ["---"] * len(header)
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [header, rule, *lines]) + "\n"


def iteration_table() -> str:
    """Return the table of iteration times, one line per case, each beside its yardstick."""
    lines = []
    for row in sorted(
        load("iteration"), key=lambda r: (r["device"], int(r["nodes"]), int(r["candidates"]), r["rules"])
    ):
        authors = AUTHORS.get((row["device"], int(row["nodes"]))) if int(row["candidates"]) == 100_000 else None
        lines.append(
            [
                f"{row['machine']}, {row['threads']} threads" if row["device"] == "cpu" else row["machine"],
                row["nodes"],
                f"{int(row['candidates']):,}",
                row["rules"],
                *(row[f"{part}_ms"] for part in ("propose", "evaluate", "learn")),
                f"**{row['iteration_ms']}**",
                row["bare_product_ms"],
                row["ratio"],
                row["cpu_ms"],
                row["bare_cpu_ms"],
                f"{authors:,}" if authors else "",
            ]
        )
    header = [
        "machine",
        "d",
        "C",
        "rules",
        "propose",
        "evaluate",
        "learn",
        "iteration",
        "bare product",
        "ratio",
        "CPU",
        "CPU, bare product",
        "authors",
    ]
    return markdown(header, lines)


def together_table() -> str:
    """Return the table of several data sets as one program, or that there are no rows yet."""
    order = ("device", "rules", "nodes", "candidates", "data_sets")
    rows = [{**row, **{key: int(row[key]) for key in order[2:]}} for row in load("together")]
    if not rows:
        return "Not timed yet: `python -m benchmarks speed --part together --device cuda` does it.\n"
    lines = [
        [
            *(row["machine"], row["rules"], row["nodes"], f"{row['candidates']:,}", row["data_sets"]),
            *(row[f"{part}_ms"] for part in ("propose", "evaluate", "learn")),
            f"**{row['together_ms']}**",
            *(row["one_by_one_ms"], row["times_one"], row["bare_product_ms"]),
        ]
        for row in sorted(rows, key=lambda r: [r[key] for key in order])
    ]
    header = ["machine", "rules", "d", "C", "data sets", "propose", "evaluate", "learn", "together", "one by one"]
    return markdown([*header, "together / one alone", "bare product"], lines)


def growth_table(over: str) -> str:
    """Return the table of growth over nodes or over evaluations."""
    lines = []
    for row in sorted(load("growth"), key=lambda r: (int(r["nodes"]), int(r["past"]))):
        if row["over"] != over:
            continue
        size = [row["nodes"], row["candidate_parents"]] if over == "nodes" else [f"{int(row['past']):,}"]
        parts = [row[f"{part}_cpu_ms"] for part in ("propose", "evaluate", "learn")]
        extra = [row["recombine_cpu_ms"], f"{int(row['n_local']):,}"] if over == "evaluations" else []
        lines.append([*size, *parts, f"**{row['cpu_ms']}**", *extra, row["peak_gib"]])
    size = ["d", "candidate parents"] if over == "nodes" else ["past evaluations"]
    extra = ["recombine", "local scores known"] if over == "evaluations" else []
    return markdown([*size, "propose", "evaluate", "learn", "iteration", *extra, "peak memory, GiB"], lines)


def curve_table() -> str:
    """Return the areas of the learning curves, graph by graph."""
    rows, lines = load("curves"), []
    for graph in sorted({row["graph"] for row in rows}):
        part = [row for row in rows if row["graph"] == graph]
        last = max(int(row["n_evals"]) for row in part)
        ratios = area_ratios(part)
        final = [row for row in part if int(row["n_evals"]) == last]
        gap = {
            rules: np.mean([float(row["true_score"]) - float(row["score"]) for row in final if row["rules"] == rules])
            for rules in COLOURS
        }
        better = sum(ratio <= 1 for ratio in ratios)
        lines.append(
            [
                graph,
                f"{int(part[0]['candidates']):,}",
                f"{last:,}",
                len(ratios),
                f"{geometric_mean(ratios):.3f}",
                f"{better} of {len(ratios)}",
                f"{gap['fast']:.4f}",
                f"{gap['paper']:.4f}",
            ]
        )
    header = [
        "data",
        "C",
        "evaluations",
        "seeds",
        "area, fast / paper",
        "fast no worse",
        "gap at the end, fast",
        "paper",
    ]
    return markdown(header, lines)


def plot_curves(path: Path) -> None:
    """Draw the gap to the true graph's score over evaluations: thin lines are seeds, thick ones their mean."""
    rows = load("curves")
    graphs = sorted({row["graph"] for row in rows})
    figure = Figure(figsize=(4.6 * len(graphs), 3.4), layout="constrained")
    for axes, graph in zip(figure.subplots(1, len(graphs), squeeze=False)[0], graphs, strict=True):
        for rules, colour in COLOURS.items():
            part = [row for row in rows if row["graph"] == graph and row["rules"] == rules]
            steps = sorted({int(row["n_evals"]) for row in part})
            gaps = [
                [
                    float(r["true_score"]) - float(r["score"])
                    for r in sorted(part, key=lambda r: int(r["n_evals"]))
                    if r["seed"] == seed
                ]
                for seed in sorted({row["seed"] for row in part})
            ]
            axes.plot(steps, np.array(gaps).T, color=colour, alpha=0.25, linewidth=0.7)
            axes.plot(steps, np.mean(gaps, axis=0), color=colour, linewidth=2, label=f"{rules} rules")
        axes.set(
            title=graph, xlabel="evaluations", ylabel="true graph's score - best found", xscale="log", yscale="log"
        )
        axes.legend(frameon=False)
    with mpl.rc_context({"svg.hashsalt": "drbo"}):  # the same rows give the same file
        figure.savefig(path, metadata={"Date": None})


def write() -> None:
    """Write the page and its plot."""
    (DOCS / "images").mkdir(exist_ok=True)
    plot_curves(DOCS / "images" / "learning-curves.svg")
    text = (DOCS / "speed.md").read_text()
    parts = {
        "iteration": iteration_table(),
        "together": together_table(),
        "nodes": growth_table("nodes"),
        "evaluations": growth_table("evaluations"),
        "curves": curve_table(),
    }
    for name, lines in parts.items():
        start, end = f"<!-- {name}: made by python -m benchmarks speed --part report -->\n", f"<!-- end {name} -->"
        before, rest = text.split(start)
        text = before + start + lines + end + rest.split(end)[1]
    (DOCS / "speed.md").write_text(text)
    print("wrote docs/speed.md and docs/images/learning-curves.svg")
