"""The page of the paper's figures with ours beside them, from the committed rows."""

from collections.abc import Iterator
from statistics import mean, stdev
from typing import NamedTuple

from scipy.stats import t as student

from benchmarks.experiments import EXPERIMENTS
from benchmarks.reports import earlier, published, reasons, scores, tables, versions
from benchmarks.rows import Row, read, spread

#: Ours in two rows, as they are called here.
PRESETS = ("drbo paper", "drbo default")
#: The paper's figures are means over so many data sets.
PAPER_SETS = 5
CONFIDENCE = 0.95
SPREAD = "within the spread of the data sets"
NO_REASON = "no reason found yet"


class Cell(NamedTuple):
    """A figure of the paper and what the rows say."""

    experiment: str
    data: str
    method: str
    figure: published.Figure
    found: list[float]

    @property
    def worse(self) -> bool:
        """The mean of the rows, as printed, is above the paper's."""
        return bool(self.found) and round(mean(self.found), 1) > round(self.figure[0], 1)

    @property
    def reason(self) -> str:
        """Why it is worse: chance if the 95% interval of the difference holds 0, else what is written."""
        spread = stdev(self.found) if len(self.found) > 1 else 0.0
        shares = (spread**2 / len(self.found), self.figure[1] ** 2 / PAPER_SETS)
        error = sum(shares) ** 0.5
        sizes = (len(self.found) - 1, PAPER_SETS - 1)
        if error > 0:  # Welch's interval
            freedom = error**4 / sum(share**2 / size for share, size in zip(shares, sizes, strict=True) if share > 0)
            if mean(self.found) - self.figure[0] <= student.ppf((1 + CONFIDENCE) / 2, freedom) * error:
                return SPREAD
        return reasons.of_ours(self.experiment, self.data, self.method) or NO_REASON


def ours() -> Iterator[Cell]:
    """Yield every SHD of DrBO in the paper's tables, once for each preset of ours."""
    for (experiment, data), cells in published.SHD.items():
        for preset in PRESETS:
            found = tables.numbers(rows_of_preset(experiment, data, preset), "shd")
            yield Cell(experiment, data, preset, cells[published.OURS], found)


def rows_of_preset(experiment: str, data: str, preset: str) -> list[Row]:
    """Return the rows of a preset of ours; that of the paper with the evaluations that are planned, if there are any.

    Rows of older experiments count for the plan.
    """
    rows = [row for row in tables.rows_of(experiment) if row["data"] == data and row["method"].startswith(preset)]
    there = {row["method"] for row in rows}
    planned = [method for method in EXPERIMENTS[experiment].plan(data).methods if method in there]
    chosen = (planned or sorted(there))[:1]
    return [row for row in rows if row["method"] in chosen]


def rivals() -> Iterator[tuple[Cell, str]]:
    """Yield every SHD of a rival that has rows, and whether it agrees: within two standard deviations, or a reason."""
    for (experiment, data), cells in published.SHD.items():
        rows = [row for row in tables.rows_of(experiment) if row["data"] == data]
        for method, figure in cells.items():
            part = [row for row in rows if row["method"] == method]
            if method != published.OURS and (found := tables.numbers(part, tables.paper_column(method))):
                reason = reasons.of_rival(experiment, data, method) or NO_REASON
                yield Cell(experiment, data, method, figure, found), verdict(found, figure, reason)


def verdict(found: list[float], figure: published.Figure, reason: str) -> str:
    """Return whether a rival agrees with its figure, is better, or is not reproduced, and why."""
    if not tables.reproduced(found, figure):
        return f"{tables.NOT_REPRODUCED}: {reason}"
    if tables.reproduced([2 * figure[0] - value for value in found], figure):
        return "agrees"
    return f"better here: {reason}"


def page(made: str) -> str:
    """Return the page."""
    lines = [
        "| experiment | data | method | SHD, paper | SHD, here | FDR, paper | here | TPR, paper | here | |",
        "|---" * 10 + "|",
    ]
    lines += [_line(cell) for cell in ours()]
    text = (
        f"# The paper's figures, and ours\n\n{made}In brackets: runs, and their version if it is an "
        "older one. The paper's own data sets are not published, so "
        "the seeds differ, but for GP and Sachs; there *drbo paper* is the paper's own score and pruning, *drbo "
        "default* is told a linear score on Sachs. Where ours is worse the last column says why: *within the spread* "
        "if the 95% interval of the difference of the means (Welch) holds 0, else the reason that was found.\n\n"
        "## DrBO\n\n" + "\n".join(lines) + "\n\n"
    )
    text += f"{said()}Run times and Fig. 1: [curves](curves.md); DAGs by rank: [ablations](ablations.md).\n\n"
    text += same_data() + small() + large()
    text += (
        "## Its baselines\n\nPC and GES in the convention in which the paper counts them: an undirected edge on a true "
        "one is right. *Agrees*: the means differ by at most two standard deviations, the larger of the two.\n\n"
        "| experiment | data | method | SHD, paper | SHD, here | |\n|---|---|---|---|---|---|\n"
    )
    for cell, words in rivals():
        shown = f"{tables.figure(cell.figure)} | {spread(cell.found)} ({len(cell.found)})"
        text += f"| {cell.experiment} | {cell.data} | {cell.method} | {shown} | {words} |\n"
    used = (row for cell in ours() for row in rows_of_preset(cell.experiment, cell.data, cell.method))
    return text + versions.listed(used)


def _line(cell: Cell) -> str:
    rows, rates = rows_of_preset(cell.experiment, cell.data, cell.method), []
    for name, figure in zip(
        ("fdr", "tpr"), published.RATES.get((cell.experiment, cell.data), (None, None)), strict=True
    ):
        found = tables.numbers(rows, name)
        rates += ["" if figure is None else f"{figure:.2f}", spread(found, 2) if found else ""]
    shown = f"{spread(cell.found)} ({len(cell.found)}{versions.mark(rows)})" if cell.found else ""
    words = cell.reason if cell.worse else ""
    figures = f"{tables.figure(cell.figure)} | {shown} | {' | '.join(rates)}"
    return f"| {cell.experiment} | {cell.data} | {cell.method} | {figures} | {words} |"


def said() -> str:
    """Return what the paper says in words or draws alone, and what the rows have."""
    text = (
        "What the paper draws or says without a table:\n\n"
        "| experiment | data | the paper | SHD, drbo paper | SHD, drbo default | |\n|---|---|---|---|---|---|\n"
    )
    for (experiment, data), (words, limit) in published.SAID.items():
        shown, why = [], []
        for preset in PRESETS:
            rows = rows_of_preset(experiment, data, preset)
            found = tables.numbers(rows, "shd")
            shown.append(f"{spread(found)} ({len(found)}{versions.mark(rows)})" if found else "")
            if found and mean(found) > limit:
                why.append(f"{preset}: {reasons.of_ours(experiment, data, preset) or NO_REASON}")
        text += f"| {experiment} | {data} | {words} | {' | '.join(shown)} | {'; '.join(why)} |\n"
    return text + "\n"


def same_data() -> str:
    """Return the errors of the authors' program and of the preset on the same data sets, side by side."""
    theirs = [row for row in read("authors") if row["graph"] == "30ER8"]
    sets = sorted({row["data_set"] for row in theirs}, key=int)
    mine = [row for row in read("speed_call") if _is_preset_call(row) and row["seed"] in sets]
    parts = {"the authors' program": theirs, '`preset="paper"`': [row | {"data_set": row["seed"]} for row in mine]}
    text = (
        "## The authors' program on the same data\n\n"
        '30ER8, raw, `simulate("30ER8", seed=...)`, 100,000 candidates, threshold 0.3, after 10,000 evaluations (the '
        "program evaluates whole batches: 10,048). `python -m benchmarks speed --part call`.\n\n"
        f"| SHD | {' | '.join(f'data set {one}' for one in sets)} | mean (runs) |\n" + "|---" * (len(sets) + 2) + "|\n"
    )
    for name, rows in parts.items():
        cells = [", ".join(row["shd"] for row in rows if row["data_set"] == one) for one in sets]
        found = tables.numbers(rows, "shd")
        text += f"| {name} | {' | '.join(cells)} | {spread(found)} ({len(found)}) |\n"
    return text + "\n"


def _is_preset_call(row: Row) -> bool:
    """Tell whether a row is a whole call of the paper's preset with all of its candidates and evaluations."""
    asked = (row["preset"], row["score_name"], row["graph"], row["candidates"], row["n_evals"])
    return asked == ("paper", "bic-ev", "30ER8", "100000", "10000")


def small() -> str:
    """Return the comparisons on 50 small data sets with BGe, and with binary data."""
    return (
        "## BGe and binary data, 50 sets each (Fig. 5 and 6)\n\n"
        "`python -m benchmarks equivalence`. The paper draws the scores of the found "
        "graphs over those of the true ones: DrBO on the diagonal, PC, GES and DAGMA below it. Here the best of "
        "all 29,281 DAGs is known as well: a column counts on how many sets it was found. Where it was found on all, "
        "the distance that is left is that of the score's own optimum, not of the search.\n\n"
        f"{scores.small(earlier.small_rows())}\n"
    )


def large() -> str:
    """Return minutes to a distance on large nonlinear data."""
    rows = read("solution")
    text = (
        "## Large nonlinear data: minutes to a given SHD (Fig. 8)\n\n`python -m benchmarks solution`; the slowest of "
        "the data sets.\n\n| data | method | SHD 20 | SHD 10 | SHD 5 | SHD 2 | machine |\n" + "|---" * 7 + "|\n"
    )
    for graph, methods in published.MINUTES_TO.items():
        for method, minutes in methods.items():
            shown = " | ".join(tables.figure(one) for one in minutes)
            text += f"| {graph} | {method}, paper | {shown} | its GPU with 16 GB |\n"
        for machine in dict.fromkeys(row["machine"] for row in rows if row["graph"] == graph):
            part = [row for row in rows if (row["graph"], row["machine"]) == (graph, machine)]
            cells = []
            for level in (20, 10, 5, 2):
                found = tables.numbers(part, f"seconds_to_{level}")
                few = f" ({len(found)} of {len(part)})" if len(found) < len(part) else ""
                cells.append(f"{max(found) / 60:.3f}{few}" if found else "never")
            text += f"| {graph} | drbo default | {' | '.join(cells)} | {machine} |\n"
    return text + "\n"
