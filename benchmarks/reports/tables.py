"""Tables of an experiment from its rows: one line per method, mean and standard deviation, the best in bold."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from statistics import mean, stdev

from benchmarks.experiments import EXPERIMENTS
from benchmarks.methods.registry import METHODS
from benchmarks.reports import earlier, published, versions
from benchmarks.rows import Row, read, spread

#: Columns of a table: title, column of the rows, digits.
COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("SHD", "shd", 1),
    ("SHD, undirected counts as right", "shd_gcastle", 1),
    ("SHD-C", "shd_c", 1),
    ("adjacency precision", "adjacency_precision", 2),
    ("recall", "adjacency_recall", 2),
    ("arrowhead precision", "arrowhead_precision", 2),
    ("recall", "arrowhead_recall", 2),
    ("AID", "aid", 2),
    ("below the best score", "gap", 1),
    ("seconds", "seconds", 2),
    ("CPU seconds", "cpu_seconds", 2),
)
#: Distances in which the least mean is bold.
RANKED = ("shd", "shd_c")
#: A rival misses its figure of the paper by more than so many standard deviations: not reproduced.
DEVIATIONS = 2.0
NOT_REPRODUCED = "not reproduced"


def header(titles: str) -> str:
    """Return the first two lines of a table from "a | b | c"."""
    return f"| {titles} |\n{'|---' * (titles.count(' | ') + 1)}|\n"


@cache
def rows_of(experiment: str) -> list[Row]:
    """Return the rows of an experiment, with the gap to the best score known of each data set; read once.

    Rows of the paper's preset from other files are added where the experiment has none, or none as new.
    """
    rows = [versions.of_ours(row) for row in read(f"run/{experiment}")]
    rows = versions.replaced(rows, earlier.borrowed(experiment), "data", "method")
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        for name in ("found_score", "true_score"):
            if row.get(name):
                key = (row["data"], row["seed"])
                best[key] = max(best.get(key, -float("inf")), float(row[name]))
    for row in rows:
        known = best.get((row["data"], row["seed"]))
        if is_late(row):  # nobody has counted
            row["cpu_seconds"] = ""
        row["gap"] = "" if not row.get("found_score") or known is None else known - float(row["found_score"])
    return rows


def is_late(row: Row) -> bool:
    """Return whether a method was stopped at its time limit."""
    return bool(row["note"].startswith(("no answer in", "stopped after")))


def numbers(part: Iterable[Row], column: str) -> list[float]:
    """Return the figures of a column that are there."""
    return [float(row[column]) for row in part if row.get(column) not in ("", None)]


def reproduced(figures: list[float], figure: published.Figure | None) -> bool:
    """Return whether a rival is not worse than its figure of the paper by more than two standard deviations."""
    if figure is None or not figures:
        return True
    spread = max(figure[1], stdev(figures) if len(figures) > 1 else 0.0)
    return mean(figures) - figure[0] <= DEVIATIONS * spread


def paper_column(method: str) -> str:
    """Return the distance that the paper's figure of a method is compared with: gCastle's for classes."""
    return "shd_gcastle" if METHODS[method].kind == "CPDAG" else "shd"


def paper_figures(experiment: str, data: str) -> dict[str, published.Figure]:
    """Return the paper's figures by method; its DrBO stands beside both presets of ours."""
    figures = dict(published.SHD.get((experiment, data), {}))
    ours = figures.pop(published.OURS, None)
    if ours is not None:
        figures |= {
            name: ours
            for name in METHODS
            if name == "drbo default" or name in ("drbo paper", "drbo paper 20k", "drbo paper 50k")
        }
    return figures


def labels(experiment: str, data: str, parts: dict[str, list[Row]]) -> dict[str, str]:
    """Return "not reproduced" for rivals that miss their figure of the paper, here or, where it has none, elsewhere."""
    figures, elsewhere = paper_figures(experiment, data), missed()
    found = {}
    for method, part in parts.items():
        if method in figures:
            if not method.startswith("drbo") and not reproduced(numbers(part, paper_column(method)), figures[method]):
                found[method] = NOT_REPRODUCED
        elif method in elsewhere:
            found[method] = f"{NOT_REPRODUCED} on {', '.join(elsewhere[method])}"
    return found


@cache
def missed() -> dict[str, list[str]]:
    """Return the rivals that miss a figure of the paper, with the data sets."""
    found: dict[str, list[str]] = {}
    for (experiment, data), figures in published.SHD.items():
        rows = rows_of(experiment)
        for method, figure in figures.items():
            part = [row for row in rows if (row["data"], row["method"]) == (data, method)]
            if part and not reproduced(numbers(part, paper_column(method)), figure):
                found.setdefault(method, []).append(data)
    return found


def experiment_table(experiment: str, data: str, rows: list[Row]) -> str:
    """Return the table of one data set: the seeds of its plan, so that all means are over the same data.

    Rows of ours of an older version have a table of their own below.
    """
    seeds = EXPERIMENTS[experiment].plan(data).seeds
    same = [row for row in rows if row["data"] == data and int(row["seed"]) < seeds]
    newest, *older = versions.by_release(same).values()
    text = _lines(experiment, data, newest, seeds) + _sortability(same) + "\n"
    text += planned(experiment, data, same) + _machines(same) + f"{versions.said(newest)}\n"
    return text + "".join(f"\n{_lines(experiment, data, part)}\n{versions.said(part)}\n" for part in older)


def _lines(experiment: str, data: str, rows: list[Row], seeds: int | None = None) -> str:
    """Return one line per method; without the number of seeds nothing is ranked."""
    parts = {method: part for method in METHODS if (part := [row for row in rows if row["method"] == method])}
    columns = [column for column in COLUMNS if any(numbers(part, column[1]) for part in parts.values())]
    figures, labelled = paper_figures(experiment, data), labels(experiment, data, parts)
    least = {
        name: min((mean(found) for part in parts.values() if (found := answers(part, name, seeds))), default=None)
        for name in RANKED
    }
    titles = [*(title for title, _, _ in columns), *(["SHD, paper"] if figures else []), "answers"]
    lines = [f"| method | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    order = sorted(parts, key=lambda method: (mean(numbers(parts[method], "shd") or [float("inf")]), method))
    for method in order:
        part = parts[method]
        cells = [
            _cell(part, name, digits, None if method in labelled or not answers(part, name, seeds) else least.get(name))
            for _, name, digits in columns
        ]
        if figures:
            cells.append(figure(figures.get(method)))
        label = f"; {labelled[method]}" if method in labelled else ""
        lines.append(f"| {method} | {' | '.join(cells)} | {answers_of(part)}{label} |")
    return "\n".join(lines) + "\n"


def answers(part: list[Row], column: str, seeds: int | None) -> list[float]:
    """Return the figures of a method that answered on all data sets of the plan; else none: it is not ranked."""
    found = numbers(part, column)
    return found if len(found) == len(part) and len({row["seed"] for row in part}) == seeds else []


def _cell(part: list[Row], column: str, digits: int, least: float | None) -> str:
    found = numbers(part, column)
    if not found:
        return ""
    text = spread(found, digits)
    is_best = least is not None and round(mean(found), digits) <= round(least, digits)
    return f"**{text}**" if is_best else text


def figure(values: published.Figure | None) -> str:
    """Return a figure of the paper in words."""
    return "" if values is None else f"{values[0]:.1f} +- {values[1]:.1f}"


def answers_of(part: list[Row]) -> str:
    """Return in words how many data sets a method answered on, and why not on the others."""
    notes = sorted({row["note"].split(", step")[0] for row in part if row["note"]})
    shown = "; ".join(note if len(note) < 70 else f"{note[:67]}..." for note in notes[:2])
    return f"{answered(part)} of {len(part)}" + (f" ({shown})" if shown else "")


def answered(part: list[Row]) -> int:
    """Return how many rows hold a graph."""
    return sum(bool(row.get("shd")) for row in part)


def plan_cells(experiment: str, data: str) -> set[tuple[str, str]]:
    """Return the methods and seeds that are planned on a data set."""
    methods, seeds = EXPERIMENTS[experiment].plan(data)
    return {(method, str(seed)) for method in methods for seed in range(seeds)}


def planned(experiment: str, data: str, rows: list[Row]) -> str:
    """Return how many of the planned cells of a data set have rows, and which methods have none."""
    wanted, there = plan_cells(experiment, data), {(row["method"], row["seed"]) for row in rows}
    begun = {method for method, _ in wanted & there}
    missing = [method for method in EXPERIMENTS[experiment].plan(data).methods if method not in begun]
    text = f"{len(wanted & there):,} of {len(wanted):,} planned cells have rows"
    return text + (f" (none: {', '.join(missing)})" if missing else "") + ".\n"


def _machines(rows: list[Row]) -> str:
    """Return the machines of the rows, where there are several, with their methods."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["method"] not in found.setdefault(row.get("machine", ""), []):
            found[row.get("machine", "")].append(row["method"])
    if len(found) < 2:
        return "".join(f"Machine: {machine}.\n" for machine in found)
    most = max(found, key=lambda machine: len(found[machine]))
    others = {
        machine: ", ".join(f"{name} (some sets)" if name in found[most] else name for name in names)
        for machine, names in found.items()
        if machine != most
    }
    return f"Machine: {most}, but {'; '.join(f'{machine}: {names}' for machine, names in others.items())}.\n"


def _sortability(part: list[Row]) -> str:
    seen = {row["seed"]: row for row in part if row.get("varsortability")}
    if not seen:
        return ""
    by_variance = spread(numbers(seen.values(), "varsortability"), 2)
    by_share = numbers(seen.values(), "r2_sortability")
    shares = f", R2-sortability {spread(by_share, 2)}" if by_share else ""
    return f"\nVarsortability {by_variance}{shares} (0.5: no order is given away).\n"


def section(experiment: str) -> str:
    """Return the tables of an experiment, one per data set that has rows."""
    declared, rows = EXPERIMENTS[experiment], rows_of(experiment)
    present = [data.name for data in declared.data if any(row["data"] == data.name for row in rows)]
    if not present:
        return ""
    source = f"Paper: {published.SOURCES[experiment]}.\n\n" if experiment in published.SOURCES else ""
    tables = "\n".join(f"**{data}**\n\n{experiment_table(experiment, data, rows)}" for data in present)
    return f"## {declared.title}\n\n`python -m benchmarks {experiment}`\n\n{source}{tables}\n"


def settings_table() -> str:
    """Return every method with its settings, where they come from, and how often it was run."""
    lines = [
        "| method | settings | source | answer | same score | seed | rows of `run` |",
        "|---|---|---|---|---|---|---|",
    ]
    runs = Counter(row["method"] for experiment in EXPERIMENTS for row in rows_of(experiment))
    for name, method in METHODS.items():
        shown = ", ".join(f"{key} = {value}" for key, value in method.settings.items() if key != "module")
        same, seeded = ("yes" if flag else "no" for flag in (method.same_score, method.seeded))
        cells = (name, shown or "none changed", method.source, method.kind, same, seeded, str(runs[name]))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
