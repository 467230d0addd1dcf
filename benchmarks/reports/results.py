"""The pages of docs/results: tables of every experiment, and those that lead to them.

Nothing is measured here and no figure is typed by hand, except those of the paper (Duong, Gupta & Nguyen 2025).
"""

from benchmarks.experiments import EXPERIMENTS
from benchmarks.reports import ablations, calibration, curves, figures, paper, presets, real_tables, tables, weaknesses
from benchmarks.rows import read

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
#: Experiments whose rows are on the page of presets.
ON_PRESETS = ("sachs_paper", "equivalence", "discrete")
HOW = (
    "Every method sees the same table and has its own process and time limit. Spread is the standard deviation over "
    "data sets (seeds 0 to 9 or fewer, as the column of answers says; methods without a seed run five times on each). "
    "The best mean of SHD and SHD-C is bold, among methods that answered on every data set. A method of others that "
    "is worse than its own figure of the paper by more than two standard deviations is labelled `not reproduced` and "
    "excluded from bolding; if one of these leads, nothing is bold. *SHD, undirected counts as right* is gCastle's "
    "convention, in which the paper counts PC and GES. *AID* is the ancestor adjustment identification distance as a "
    "share of all pairs. *Below the best score* is the distance of the score (penalty 1) to the best one that any "
    "method or the true graph has on that data set. Seconds are those of the machine under the table, which other work "
    "shared, one thread a method; CPU seconds are steadier.\n\n"
)


def index_page() -> str:
    """Return the page that leads to the others."""
    pages = {
        "linear": "raw, standardised, five noises, graph types, sample sizes, real structures",
        "hard": "internally standardised models, null data, n < d, weak edges, heavy tails, a hidden confounder",
        "nonlinear": "Gaussian processes, cosines with 50 and 100 nodes, Sachs",
        "paper": "every figure of the paper, and ours beside it, with reasons where they differ",
        "curves": "learning curves over evaluations and seconds (Fig. 1), and the tables of run times",
        "ablations": "one knob of the paper's preset at a time",
        "presets": "both presets of ours on every score: optimum, evaluations, seconds",
        "calibration": "edge probabilities, frequencies and directions against the truth",
        "real-tables": "supported arrows of real tables of which something is known, and of kinds met in practice",
        "methods": "settings of every method, and where they come from",
        "not-the-best": "where drbo is not the best tool",
    }
    listed = "".join(f"| [{name}]({name}.md) | {words} |\n" for name, words in pages.items())
    count = sum(len(read(f"run/{name}")) for name in EXPERIMENTS)
    names = "\n".join(pages)
    shown = [name for name in EXPERIMENTS if name not in ON_PRESETS]
    sets = [(name, data.name) for name in shown for data in EXPERIMENTS[name].data]
    there = {(name, row["data"], row["method"], row["seed"]) for name in shown for row in tables.rows_of(name)}
    plan = [(name, data, *cell) for name, data in sets for cell in tables.plan_cells(name, data)]
    return (
        f"# Results\n\n{MADE}{HOW}{count:,} runs have a row; of {len(plan):,} planned pairs of method and data set "
        f"{sum(cell in there for cell in plan):,} have one. `python -m benchmarks EXPERIMENT` runs what is missing;"
        " a cell that failed or ran out of time has a row that says so. "
        "The plans were cut to what this machine can run when most rows were there: what they leave out is not "
        "counted. Cells of ours that an error in the proof of the optimum had stopped were run again after it was "
        "mended, with a longer limit.\n\n"
        f"| page | what it shows |\n|---|---|\n{listed}\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )


def group_page(name: str) -> str:
    """Return a page of tables."""
    title, opening, experiments = GROUPS[name]
    sections = "\n".join(filter(None, (tables.section(experiment) for experiment in experiments)))
    pictures = "![SHD by sample size](sizes.svg)\n" if name == "linear" and tables.rows_of("sizes") else ""
    return f"# {title}\n\n{MADE}[How to read it](index.md). {opening}\n\n{sections}{pictures}".replace(" \n\n", "\n\n")


def sizes_figure() -> bytes | None:
    """Draw the SHD over sample sizes."""
    rows, points = tables.rows_of("sizes"), figures.Points()
    for data in EXPERIMENTS["sizes"].data:
        for method in EXPERIMENTS["sizes"].methods:
            part = [row for row in rows if (row["data"], row["method"]) == (data.name, method)]
            if found := tables.numbers(part, "shd"):
                points.setdefault(method, []).append((data.n, found))
    return figures.lines(points, "rows", "SHD, 20ER4", log_x=True) if points else None


def methods_page() -> str:
    """Return the settings of every method."""
    return (
        f"# Methods and their settings\n\n{MADE}Libraries and versions: `benchmarks/requirements.txt`. Penalty 1 of "
        "ours is `lambda_bic` 1 of FLOP, `alpha` 1 of XGES and `lambda_value` 0.5 of causal-learn, whose BOSS and "
        "GRaSP take 2 unless told otherwise. Methods without a library are in `benchmarks/methods`, written from their "
        "papers.\n\n" + tables.settings_table()
    )


def files() -> dict[str, str | bytes]:
    """Return the pages and pictures of docs/results by name."""
    pictures = {
        "ablations.svg": ablations.picture(),
        "sizes.svg": sizes_figure(),
        "calibration.svg": calibration.picture(),
        **curves.pictures(),
    }
    return {
        "index.md": index_page(),
        **{f"{name}.md": group_page(name) for name in GROUPS},
        "paper.md": paper.page(MADE),
        "curves.md": curves.page(MADE),
        "ablations.md": ablations.page(MADE),
        "presets.md": presets.page(),
        "methods.md": methods_page(),
        "calibration.md": calibration.page(),
        "real-tables.md": real_tables.page(),
        "not-the-best.md": weaknesses.page(),
        **{name: picture for name, picture in pictures.items() if picture},
    }
