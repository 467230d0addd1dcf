"""Scores of one's own: how far each search is from the best score known, by the families that it asked for."""

import numpy as np

from benchmarks.reports.figures import Panel, Points, band, curves, labelled
from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped

#: Costs per column that the table shows.
SHOWN = ("10", "20", "40", "80")
#: Scores closer than this are equal.
SAME = 0.01
#: What the README shows: score, graph and rows, and searches under their names there.
FRONT = ("boosting", "15ER2", "200")
NAMED = {
    "drbo": "drbo",
    "hill climbing": "hill climbing",
    "tabu": "tabu search",
    "annealing": "simulated annealing",
    "TPE orders": "Optuna (TPE)",
    "random": "random graphs",
}
#: What is measured, in words.
SCORES = {"boosting": "gradient boosting", "network": "neural network"}


def table(rows: list[Row]) -> str:
    """Return mean and 95% interval of the distances, and how many tables have the best score."""
    costs = [cost for cost in SHOWN if f"best_{cost}" in rows[0]]
    text = header("score, table | search | tables | " + " | ".join(f"{cost} per column" for cost in costs))
    for (score, graph, n), part in _kinds(rows):
        for (search,), own in sorted(grouped(part, "search").items(), key=lambda item: (item[0] != ("drbo",), item[0])):
            found = gaps(own, part)
            cells = [_cell(found[cost]) if len(found[cost]) == len(own) else "no graph yet" for cost in costs]
            text += f"| {SCORES[score]}, {graph}, {n} rows | {search} | {len(own)} | {' | '.join(cells)} |\n"
    return text


def _cell(gaps: list[float]) -> str:
    middle, half = band(gaps)
    hits = sum(gap < SAME for gap in gaps)
    return f"{middle:.1f} +- {half:.1f}" + (f" ({hits} at the best)" if hits else "")


def picture(rows: list[Row]) -> bytes:
    """Draw the distances over the cost."""
    drawn = []
    for (score, graph, _), part in _kinds(rows):
        points: Points = {}
        for (search,), own in grouped(part, "search").items():
            known = {int(cost): each for cost, each in gaps(own, part).items() if len(each) == len(own)}
            points[search] = [(cost, np.log10(1 + np.array(each)).tolist()) for cost, each in sorted(known.items())]
        points = {search: line for search, line in points.items() if line}
        words = f"families per column, {SCORES[score]}, {graph}"
        ticks = (5, *map(int, SHOWN))
        drawn.append(Panel(points, {}, words, "log10(1 + best known - best)", ticks=ticks))
    return curves(drawn)


def front(rows: list[Row]) -> bytes:
    """Draw the picture of the README: one score and table, each search with its name."""
    part = dict(_kinds(rows))[FRONT]
    points: Points = {}
    for search, words in NAMED.items():
        found = gaps([row for row in part if row["search"] == search], part)
        points[words] = [(int(cost), each) for cost, each in sorted(found.items(), key=lambda item: int(item[0]))]
    title = "A slow score of your own: cross-validated gradient boosting, 15 columns"
    return labelled(
        points, (title, "scored families per column (of 16,384 possible)", "best score so far, mean of 10 tables")
    )


def _kinds(rows: list[Row]) -> list[tuple[tuple[str, ...], list[Row]]]:
    """Return the rows by score and table, small ones first."""
    groups = grouped(rows, "score", "graph", "n")
    return sorted(groups.items(), key=lambda item: (item[0][0], int(item[0][1].split("ER")[0])))


def gaps(own: list[Row], every: list[Row]) -> dict[str, list[float]]:
    """Return how far a search is below the best score that any found on the same table, by its cost."""
    costs = [name for name in own[0] if name.startswith("best_")]
    most = {seed: max(float(row[costs[-1]]) for row in some) for (seed,), some in grouped(every, "seed").items()}
    return {
        name.removeprefix("best_"): [max(0.0, most[row["seed"]] - float(row[name])) for row in own if row[name] != ""]
        for name in costs
    }
