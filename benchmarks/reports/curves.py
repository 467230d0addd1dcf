"""The page of learning curves and run times (the paper's Fig. 1 and its three tables), from the committed rows."""

from collections.abc import Iterator

import numpy as np

from benchmarks.experiments import EXPERIMENTS
from benchmarks.reports import earlier, figures, published, tables, versions
from benchmarks.reports.paper import Cell
from benchmarks.rows import Row, read, spread

#: Experiments with curves, and the data of the paper's figure.
SHOWN = {"curves": ("30ER8 raw", "100ER2 raw"), "curves_gp": ("10ER4 GP unpruned",)}
#: Figures at the end of a run: the paper's first column, in which recall is TPR and precision 1 - FDR.
ENDS = (("SHD", "shd", 1), ("TPR", "tpr", 2), ("FDR", "fdr", 2), ("F1", "f1", 2), ("below the best score", "gap", 1))
PLACES = 40
#: A run counts at a number of evaluations if it has a step this near: batches do not end on round numbers.
BEFORE, AFTER = 0.9, 1.02


def page(made: str) -> str:
    """Return the page."""
    text = (
        f"# Learning curves and run times\n\n{made}The paper's Fig. 1 and its tables of run times. A curve shows the "
        "graph with the best score so far, pruned as the paper prunes (|w| > 0.3 for linear data, nothing for Gaussian "
        "processes); a gradient step counts as one evaluation. Bands are 95% intervals of the mean over data sets. "
        "Methods that show no steps are a point over seconds. In the tables a step up to a tenth before a number of "
        "evaluations counts for it. The score is that of the true graph subtracted, divided "
        "by n d.\n\n"
    )
    for experiment, data in _data():
        text += f"## {data}\n\n`python -m benchmarks {experiment}`\n\n{ends(experiment, data)}"
        text += f"![Learning curves on {data}]({file_name(data)})\n\n" if steps_of(experiment, data) else ""
        text += f"SHD and minutes after so many evaluations; in brackets runs.\n\n{run_times(experiment, data)}\n"
        text += "".join(f"- {words}\n" for words in remarks(experiment, data)) + "\n"
    used = [row for name in SHOWN for row in tables.rows_of(name)]
    return text.rstrip("\n") + "\n" + versions.listed(used)


def _data() -> Iterator[tuple[str, str]]:
    return ((experiment, data) for experiment, names in SHOWN.items() for data in names)


def steps_of(experiment: str, data: str) -> list[Row]:
    """Return the points of the curves on one data set."""
    return [row for row in read(f"run/{experiment}_curves") if row["data"] == data]


def ends(experiment: str, data: str) -> str:
    """Return the table of figures at the end of each run."""
    rows = [row for row in tables.rows_of(experiment) if row["data"] == data]
    if not rows:
        return "No rows yet.\n\n"
    titles = " | ".join(title for title, _, _ in ENDS)
    text = f"| method | {titles} | seconds | answers, machine |\n" + "|---" * (len(ENDS) + 3) + "|\n"
    for method in dict.fromkeys(row["method"] for row in rows):
        part = [row for row in rows if row["method"] == method]
        found = ((tables.numbers(part, name), digits) for _, name, digits in (*ENDS, ("", "seconds", 1)))
        cells = " | ".join(spread(values, digits) if values else "" for values, digits in found)
        text += f"| {method} | {cells} | {tables.answers_of(part)}, {part[0]['machine']}{versions.mark(part)} |\n"
    return text + "\n" + tables.planned(experiment, data, rows) + "\n"


def run_times(experiment: str, data: str) -> str:
    """Return a run-time table: SHD and minutes after so many evaluations, the paper's and ours."""
    methods = published.RUN_TIMES[data]
    marks, rows = list(methods[published.OURS]), [*steps_of(experiment, data), *earlier.single_runs(data)]
    text = f"| method | {' | '.join(f'{n:,}: SHD | minutes' for n in marks)} | machine |\n"
    text += "|---" * (2 * len(marks) + 2) + "|\n"
    for method, cells in methods.items():
        shown = (f"{tables.figure(shd)} | {tables.figure(minutes)}" for shd, minutes in cells.values())
        text += f"| {method}, paper | {' | '.join(shown)} | its GPU with 16 GB |\n"
    own = [row for row in tables.rows_of(experiment) if row["data"] == data]
    machines = {row["method"]: row["machine"] for row in (*own, *earlier.single_runs(data))}
    for method in dict.fromkeys(row["method"] for row in rows):
        part = [row for row in rows if row["method"] == method]
        text += f"| {method} | {' | '.join(_after(part, n) for n in marks)} | {machines.get(method, '')} |\n"
    return text


def remarks(experiment: str, data: str) -> Iterator[str]:
    """Yield where the paper's preset is worse than the paper after so many evaluations, and why."""
    rows = [row for row in steps_of(experiment, data) if row["method"].startswith("drbo paper")]
    for evals, (shd, _) in published.RUN_TIMES[data][published.OURS].items():
        whole = [row for row in earlier.single_runs(data) if int(row["step"]) == evals]
        found = tables.numbers(whole or _ends(rows, evals), "shd")
        cell = Cell(experiment, data, "drbo paper", shd, found)
        if cell.worse:
            yield f"{evals:,} evaluations, worse than the paper's {tables.figure(shd)}: {cell.reason}."


def _ends(rows: list[Row], evals: int) -> list[Row]:
    """Return the last step up to about ``evals`` of each data set that got there."""
    ends = []
    for seed in sorted({row["seed"] for row in rows}):
        part = [row for row in rows if row["seed"] == seed]
        before = [row for row in part if int(row["step"]) <= AFTER * evals]
        if before and max(int(row["step"]) for row in part) >= BEFORE * evals:
            last = max(before, key=lambda row: int(row["step"]))
            if int(last["step"]) >= BEFORE * evals or len(part) > 1:  # a step is sent where the graph has changed
                ends.append(last)
    return ends


def _after(rows: list[Row], evals: int) -> str:
    """Return SHD and minutes after so many evaluations."""
    ends = _ends(rows, evals)
    if not ends:
        return " | "
    minutes = [float(row["step_seconds"]) / 60 for row in ends]
    return f"{spread(tables.numbers(ends, 'shd'))} ({len(ends)}) | {spread(minutes, 2)}"


def file_name(data: str) -> str:
    """Return the name of a picture."""
    return f"curve-{data.split()[0]}.svg"


def pictures() -> dict[str, bytes]:
    """Draw the score and SHD over evaluations and over seconds, of every data set with rows."""
    return {
        file_name(data): figures.curves([_panel(experiment, data, *axes) for axes in AXES])
        for experiment, data in _data()
        if steps_of(experiment, data)
    }


#: Panels of a picture: column of the steps, its words, what is drawn, its words.
AXES = (
    ("step", "evaluations or gradient steps", "excess", "score minus the true graph's, / (n d)"),
    ("step_seconds", "seconds", "excess", "score minus the true graph's, / (n d)"),
    ("step", "evaluations or gradient steps", "shd", "SHD"),
    ("step_seconds", "seconds", "shd", "SHD"),
)


def _panel(experiment: str, data: str, x: str, x_words: str, y: str, y_words: str) -> figures.Panel:
    rows, steps = tables.rows_of(experiment), steps_of(experiment, data)
    truth = {row["seed"]: float(row["true_score"]) for row in rows if row["data"] == data and row.get("true_score")}
    declared = next(one for one in EXPERIMENTS[experiment].data if one.name == data)
    size = declared.n * (int(declared.graph.split("ER")[0]) if declared.graph[0].isdigit() else 10)
    for row in steps:
        known = row["seed"] in truth and row.get("found_score")
        row["excess"] = (float(row["found_score"]) - truth[row["seed"]]) / size if known else ""
    usable = [row for row in steps if row.get(y) not in ("", None)]
    last = max(float(row[x]) for row in usable)
    places = np.geomspace(max(last / 1_000, 1e-2), last, PLACES)
    points, marks = figures.Points(), figures.Points()
    for method in dict.fromkeys(row["method"] for row in usable):
        if line := figures.curve([row for row in usable if row["method"] == method], x, places, y):
            points[method] = line
    if (x, y) == ("step_seconds", "shd"):
        for method in dict.fromkeys(
            row["method"] for row in rows if row["data"] == data and row["method"] not in points
        ):
            part = [row for row in rows if (row["data"], row["method"]) == (data, method) and row.get("shd")]
            if part:
                marks[method] = [(float(np.mean(tables.numbers(part, "seconds"))), tables.numbers(part, "shd"))]
    return figures.Panel(points, marks, x_words, y_words, bottom=0.0 if y == "shd" else None)
