"""Write docs/results/, and the tables of README and docs/scores.md, from the committed rows.

Nothing is measured here and no figure is typed by hand, except those of the paper (Duong, Gupta & Nguyen 2025).
"""

from pathlib import Path

import numpy as np

from benchmarks import figures, paper, preset_report, score_report, tables
from benchmarks import rows as table
from benchmarks.experiments import EXPERIMENTS
from benchmarks.methods.registry import ABLATED
from benchmarks.weaknesses import weaknesses
from drbo.settings import Settings

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"
WIDTHS = ("0.0", "0.05", "0.01")
#: Ablations that replace a part of the paper's loop.
REPLACED = {
    "drbo paper 20k, variant retrained": "training from scratch in every iteration",
    **{f"drbo paper 20k, variant direct, hidden {hidden}": "one network for the DAG" for hidden in (64, 256, 1_024)},
    "drbo paper 5k, n_candidates 10000": "5,000 evaluations, for the next line",
    "drbo paper 5k, variant exact-gp": "exact Gaussian processes",
}
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
    """Return every figure of DrBO in the paper with ours beside it."""
    lines = ["| experiment | data | SHD, paper | drbo paper | drbo default |", "|---|---|---|---|---|"]
    for (experiment, data), cells in paper.SHD.items():
        rows = [row for row in tables.rows_of(experiment) if row["data"] == data]
        found = []
        for names in (("drbo paper", "drbo paper 20k"), ("drbo default",)):
            shd = tables.numbers((row for row in rows if row["method"] in names), "shd")
            found.append(f"{table.spread(shd)} ({len(shd)})" if shd else "")
        mean_, deviation = cells[paper.OURS]
        lines.append(f"| {experiment} | {data} | {mean_:.1f} +- {deviation:.1f} | {' | '.join(found)} |")
    return (
        f"# The paper's figures of DrBO, and ours\n\n{MADE}In brackets: data sets. The paper's own data sets are not "
        "published, so the seeds differ. GP and Sachs by the paper's own score, and its optimum: "
        "[presets](presets.md).\n\n" + "\n".join(lines) + "\n\n" + run_times()
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


def ablation_page() -> str:
    """Return one line per setting, and the figure."""
    rows = tables.rows_of("ablations")
    base = [row for row in rows if row["method"] == "drbo paper 20k"]
    text = (
        f"# Ablations\n\n{MADE}One knob of the paper's preset at a time: 20ER4, n = 1,000, 20,000 evaluations, pruned "
        "by |w| > 0.3. The paper's own value is the first line of each knob. Parts of our own search, one at a time: "
        "[efficiency](../efficiency.md).\n\n"
        "| knob | value | SHD | below the best score | seconds | data sets, machine |\n|---|---|---|---|---|---|\n"
    )
    for knob, values in ABLATED.items():
        for value in (getattr(Settings.preset("paper"), knob), *values):
            name = f"drbo paper 20k, {knob} {value}"
            part = [row for row in rows if row["method"] == name] if value in values else base
            text += _ablation_line(knob, str(value), part)
    text += "".join(
        _ablation_line(words, method, [row for row in rows if row["method"] == method])
        for method, words in REPLACED.items()
    )
    return text + ("\n![SHD by knob](ablations.svg)\n" if ablation_figure() else "") + unique_table()


def _ablation_line(knob: str, value: str, part: list[table.Row]) -> str:
    if not part:
        return ""
    cells = [table.spread(tables.numbers(part, name), 1) for name in ("shd", "gap", "seconds")]
    return f"| {knob} | {value} | {' | '.join(cells)} | {len(part)}, {part[0]['machine']} |\n"


def unique_table() -> str:
    """Return the table of different DAGs by rank."""
    rows = table.load(table.FOLDER / "unique.csv")
    text = (
        "\n## Different DAGs among 1,000 random ones, 30 nodes (`unique`)\n\nThe paper's column cannot be had from "
        "uniform vectors, which all give different DAGs. Candidates of a small trust region show its trend.\n\n"
        "| rank | paper | uniform in [-1, 1] | region of half-width 0.05 | 0.01 |\n|---|---|---|---|---|\n"
    )
    for rank, (middle, deviation) in paper.UNIQUE.items():
        parts = [[row for row in rows if (row["rank"], row["length"]) == (rank, width)] for width in WIDTHS]
        counts = [table.spread(row["unique"] for row in part) for part in parts if part]
        text += f"| {rank} | {middle:.1f} +- {deviation:.1f} | {' | '.join(counts)} |\n"
    return text


def ablation_figure() -> bytes | None:
    """Draw the SHD of every value of every knob."""
    rows, groups = tables.rows_of("ablations"), dict[str, dict[str, list[float]]]()
    for knob, values in ABLATED.items():
        own = getattr(Settings.preset("paper"), knob)
        every = sorted((own, *values), key=lambda value: (isinstance(value, str), value))
        for value in every:
            name = "drbo paper 20k" if value == own else f"drbo paper 20k, {knob} {value}"
            found = tables.numbers((row for row in rows if row["method"] == name), "shd")
            if found:
                groups.setdefault(knob, {})[str(value)] = found
    return figures.panels(groups, "SHD") if groups else None


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
        "ablations": ablation_page(),
        "presets": preset_report.page(),
        "methods": methods_page(),
        "not-the-best": weaknesses(),
    }
    files = {RESULTS / f"{name}.md": text.encode() for name, text in texts.items()}
    pictures = {"ablations.svg": ablation_figure(), "sizes.svg": sizes_figure(), **curve_figures()}
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
