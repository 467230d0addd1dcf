"""Write docs/results/, and the tables of README and docs/scores.md, from the committed rows.

Nothing is measured here and no figure is typed by hand, except those of the paper (Duong, Gupta & Nguyen 2025).
"""

from pathlib import Path

import numpy as np

from benchmarks import ablation_report, figures, paper, preset_report, score_report, tables
from benchmarks import rows as table
from benchmarks.experiments import EXPERIMENTS
from benchmarks.weaknesses import weaknesses

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"
MADE = "Made by `python -m benchmarks report` from the rows in `benchmarks/rows/run`.\n\n"
#: Pages of tables: title, opening, experiments.
GROUPS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "linear": (
        "Linear data",
        "",
        ("raw", "standardised", "standardised_large", "noises", "graphs", "sizes", "bnlearn"),
    ),
    "hard": (
        "Data that give nothing away",
        "What is left when variances and explained shares say nothing about the order, when there is nothing to find, "
        "or when an assumption fails.\n\n",
        ("iscm", "null", "few_rows", "weak", "heavy", "confounder"),
    ),
    "nonlinear": (
        "Nonlinear data, and Sachs",
        "The known Sachs network has no v-structure, so its class is fully undirected: the second column of SHD, in "
        "which an undirected edge on a true one is right, flatters methods that orient nothing.\n\n",
        ("gp", "gp_standardised", "cos", "sachs"),
    ),
}
HOW = (
    "Every method sees the same table and has its own process and time limit. Spread is the standard deviation over "
    "data sets (seeds 0 to 9 or fewer, as the column of answers says; methods without a seed run five times on each). "
    "The best mean of SHD and SHD-C is bold, among methods that answered on every data set. A method of others that "
    "is worse than its own figure of the paper by more than two standard deviations is labelled `not reproduced` and "
    "is not ranked. *SHD, undirected counts as right* is gCastle's convention, in which the paper counts PC and GES. "
    "*AID* is the ancestor adjustment identification distance as a share of all pairs. *Below the best score* is the "
    "distance of the score (penalty 1) to the best one that any method or the true graph has on that data set. "
    "Seconds are those of a machine with two cores that other work shared, one thread a method, but for rows of a "
    "GPU; those of CPU are steadier. How well edge probabilities are calibrated: [confidence](../confidence.md).\n\n"
)


def index_page() -> str:
    """Return the page that leads to the others."""
    pages = {
        "linear": "raw, standardised, five noises, graph types, sample sizes, real structures",
        "hard": "internally standardised models, null data, n < d, weak edges, heavy tails, a hidden confounder",
        "nonlinear": "Gaussian processes, cosines with 50 and 100 nodes, Sachs",
        "paper": "every figure of DrBO in the paper, and ours beside it",
        "ablations": "one knob of the paper's preset at a time",
        "presets": "both presets of ours on every score: optimum, evaluations, seconds",
        "methods": "settings of every method, and where they come from",
        "not-the-best": "where drbo is not the best tool",
    }
    listed = "".join(f"| [{name}]({name}.md) | {words} |\n" for name, words in pages.items())
    count = sum(len(table.load(path)) for path in sorted(tables.FOLDER.glob("*.csv")) if "_curves" not in path.name)
    names = "\n".join(pages)
    return (
        f"# Results\n\n{MADE}{HOW}{count:,} cells have a row. `python -m benchmarks run EXPERIMENT` runs what is "
        "missing; a cell that failed or ran out of time has a row that says so.\n\n"
        f"| page | what it shows |\n|---|---|\n{listed}\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )


def group_page(name: str) -> str:
    """Return a page of tables."""
    title, opening, experiments = GROUPS[name]
    sections = "\n".join(filter(None, (tables.section(experiment) for experiment in experiments)))
    pictures = "![SHD by sample size](sizes.svg)\n" if name == "linear" and sizes_figure() else ""
    return f"# {title}\n\n{MADE}[How to read it](index.md). {opening}\n\n{sections}{pictures}".replace(" \n\n", "\n\n")


def paper_page() -> str:
    """Return every figure of DrBO in the paper with ours beside it, and those of its rivals."""
    lines = ["| experiment | data | SHD, paper | drbo paper | drbo default |", "|---|---|---|---|---|"]
    rivals = ["| experiment | data | method | SHD, paper | SHD, here | |", "|---|---|---|---|---|---|"]
    for (experiment, data), cells in paper.SHD.items():
        rows = [row for row in tables.rows_of(experiment) if row["data"] == data]
        found = []
        for names in (("drbo paper", "drbo paper 20k"), ("drbo default",)):
            shd = tables.numbers((row for row in rows if row["method"] in names), "shd")
            found.append(f"{table.spread(shd)} ({len(shd)})" if shd else "")
        lines.append(f"| {experiment} | {data} | {tables.figure(cells[paper.OURS])} | {' | '.join(found)} |")
        for method, figure in cells.items():
            part = [row for row in rows if row["method"] == method]
            if method != paper.OURS and (shd := tables.numbers(part, tables.paper_column(method))):
                words = verdict(shd, figure, paper.REASONS.get((experiment, method), ""))
                shown = f"{tables.figure(figure)} | {table.spread(shd)} ({len(shd)})"
                rivals.append(f"| {experiment} | {data} | {method} | {shown} | {words} |")
    return (
        f"# The paper's figures, and ours\n\n{MADE}In brackets: runs. The paper's own data sets are not published, so "
        "the seeds differ, but for GP and Sachs; there *drbo paper* is the paper's own score and pruning, *drbo "
        "default* is told a linear score on Sachs.\n\n## DrBO\n\n"
        + "\n".join(lines)
        + f"\n\n{convergence()}## Its baselines\n\nPC and GES in the convention in which the paper counts them.\n\n"
        + "\n".join(rivals)
        + "\n\n"
        + run_times()
    )


def verdict(found: list[float], figure: paper.Figure, reason: str) -> str:
    """Return whether a rival agrees with its figure, is better, or is not reproduced, and why."""
    if not tables.reproduced(found, figure):
        return f"{tables.NOT_REPRODUCED}" + (f": {reason}" if reason else "")
    if tables.reproduced([2 * figure[0] - value for value in found], figure):
        return "agrees"
    return "better" + (f": {reason}" if reason else "")


def convergence() -> str:
    """Return what more evaluations do to the paper's preset on 30ER8."""
    rows = [
        row for row in table.load(table.FOLDER / "linear.csv") if (row["graph"], row["preset"]) == ("30ER8", "paper")
    ]
    found = {
        evals: tables.numbers((row for row in rows if row["evals"] == evals), "shd") for evals in ("10000", "50000")
    }
    if not all(found.values()):
        return ""
    first, last = (table.spread(part) for part in found.values())
    return (
        f"On 30ER8 the paper's preset has SHD {first} after 10,000 evaluations (paper: 2.0 +- 1.2) and {last} after "
        "50,000 (paper: 1.6 +- 1.5): it gets there later on these data sets.\n\n"
    )


def run_times() -> str:
    """Return the run-time tables: SHD and minutes after so many evaluations."""
    text = "## SHD and minutes after so many evaluations\n\n"
    rows = table.load(tables.FOLDER / "curves_curves.csv")
    for data, methods in paper.RUN_TIMES.items():
        marks = list(methods[paper.OURS])
        text += f"**{data}**\n\n| method | {' | '.join(f'{n:,}: SHD | minutes' for n in marks)} |\n"
        text += "|---" * (2 * len(marks) + 1) + "|\n"
        for method, cells in methods.items():
            shown = (f"{s[0]:.1f} +- {s[1]:.1f} | {m[0]:.1f} +- {m[1]:.1f}" for s, m in cells.values())
            text += f"| {method}, paper | {' | '.join(shown)} |\n"
        for method in dict.fromkeys(row["method"] for row in rows if row["data"] == data):
            part = [row for row in rows if (row["data"], row["method"]) == (data, method)]
            text += f"| {method} | {' | '.join(_after(part, n) for n in marks)} |\n"
        text += "\n"
    return text + "".join(f"![SHD over evaluations]({name})\n" for name in curve_figures())


def _after(rows: list[table.Row], evals: int) -> str:
    """Return SHD and minutes of the last step at most at ``evals``, over the data sets that got there."""
    ends = []
    for seed in sorted({row["seed"] for row in rows}):
        part = [row for row in rows if row["seed"] == seed and int(row["step"]) <= evals]
        full = max(int(row["step"]) for row in rows if row["seed"] == seed)
        if part and full >= 0.9 * evals:
            ends.append(max(part, key=lambda row: int(row["step"])))
    if not ends:
        return " | "
    minutes = [float(row["step_seconds"]) / 60 for row in ends]
    return f"{table.spread(tables.numbers(ends, 'shd'))} ({len(ends)}) | {table.spread(minutes, 2)}"


def sizes_figure() -> bytes | None:
    """Draw the SHD over sample sizes."""
    rows, points = tables.rows_of("sizes"), figures.Points()
    for data in EXPERIMENTS["sizes"].data:
        for method in EXPERIMENTS["sizes"].methods:
            part = [row for row in rows if (row["data"], row["method"]) == (data.name, method)]
            if found := tables.numbers(part, "shd"):
                points.setdefault(method, []).append((data.n, found))
    return figures.lines(points, "rows", "SHD, 20ER4", log_x=True) if points else None


def curve_figures() -> dict[str, bytes]:
    """Draw the learning curves over evaluations and over seconds."""
    rows, drawn = table.load(tables.FOLDER / "curves_curves.csv"), dict[str, bytes]()
    for data in dict.fromkeys(row["data"] for row in rows):
        for x, words in (("step", "evaluations or gradient steps"), ("step_seconds", "seconds")):
            part = [row for row in rows if row["data"] == data]
            last = max(float(row[x]) for row in part)
            places = np.geomspace(max(last / 1_000, 1e-2), last, 40)
            points = {
                method: line
                for method in dict.fromkeys(row["method"] for row in part)
                if (line := figures.curve([row for row in part if row["method"] == method], x, places))
            }
            if points:
                name = f"curve-{data.split()[0]}-{'steps' if x == 'step' else 'seconds'}.svg"
                drawn[name] = figures.lines(points, words, f"SHD, {data}", log_x=True)
    return drawn


def methods_page() -> str:
    """Return the settings of every method."""
    return (
        f"# Methods and their settings\n\n{MADE}Libraries and versions: `benchmarks/requirements.txt`. Penalty 1 of "
        "ours is `lambda_bic` 1 of FLOP, `alpha` 1 of XGES and `lambda_value` 0.5 of causal-learn, whose BOSS and "
        "GRaSP take 2 unless told otherwise. Methods without a library are in `benchmarks/methods`, written from their "
        "papers.\n\n" + tables.settings_table()
    )


def pages() -> dict[Path, bytes]:
    """Return every file that the report writes."""
    texts = {
        "index": index_page(),
        **{name: group_page(name) for name in GROUPS},
        "paper": paper_page(),
        "ablations": ablation_report.page(MADE),
        "presets": preset_report.page(),
        "methods": methods_page(),
        "not-the-best": weaknesses(),
    }
    files = {RESULTS / f"{name}.md": text.encode() for name, text in texts.items()}
    pictures = {"ablations.svg": ablation_report.picture(), "sizes.svg": sizes_figure(), **curve_figures()}
    files |= {RESULTS / name: picture for name, picture in pictures.items() if picture}
    readme, scores = ROOT / "README.md", ROOT / "docs" / "scores.md"
    files[readme] = table.filled(readme.read_text(), "results", preset_report.lines("linear")).encode()
    files[scores] = table.filled(scores.read_text(), "null test", score_report.null_table()).encode()
    return files


def main(arguments: list[str]) -> None:
    """Write the pages."""
    if arguments:
        raise SystemExit("report takes no options")
    RESULTS.mkdir(exist_ok=True)
    for path, content in pages().items():
        path.write_bytes(content)
        print(f"wrote {path.relative_to(ROOT)}")
