"""Where a study of its own has another method nearer to the truth than ours: lines of the page of weaknesses."""

from collections.abc import Callable, Iterator
from statistics import mean
from typing import NamedTuple

from benchmarks.reports import own_score, versions
from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped, read


class Study(NamedTuple):
    """A file of rows in which methods meet on the same tables."""

    file: str
    tables: tuple[str, ...]  # columns that name a kind of table
    figure: str  # a column where less is better
    words: str  # what it counts
    ours: Callable[[Row], bool]
    rivals: Callable[[Row], bool]
    method: Callable[[Row], str] = lambda row: row["method"]


#: FLOP and BOSS at penalties other than those that their authors recommend are no rivals of the default.
RECOMMENDED = {("FLOP", "2"), ("BOSS", "4"), ("BOSS", "2")}
STUDIES = (
    Study(
        "columns",
        ("graph", "n"),
        "shd_c",
        "SHD-C",
        lambda row: row["method"] == "drbo" and not row["failed"],
        lambda row: row["method"] != "drbo" and not row["failed"],
    ),
    Study(
        "gaussian_networks",
        ("network", "n"),
        "shd_c",
        "SHD-C",
        lambda row: (row["method"], row["penalty"]) == ("drbo", "default"),
        lambda row: (row["method"], row["penalty"]) in RECOMMENDED,
        lambda row: f"{row['method']}, penalty {row['penalty']}",
    ),
    Study(
        "nongaussian",
        ("kind", "n"),
        "shd",
        "SHD",
        lambda row: row["method"] == "bic-ng",
        lambda row: row["method"].endswith("LiNGAM"),
    ),
    Study(
        "interventions_simulated",
        ("kind",),
        "shd",
        "SHD",
        lambda row: row["method"] == "unknown",
        lambda row: row["method"] not in ("unknown", "known", "drift", "linear"),
    ),
)


def lines() -> Iterator[tuple[str, list[Row]]]:
    """Yield a line for every kind of table on which a rival is nearer, on the tables that both answered; its rows."""
    for study in STUDIES:
        for names, rows in grouped(read(study.file), *study.tables).items():
            ours = {row["seed"]: float(row[study.figure]) for row in rows if study.ours(row) and row[study.figure]}
            for rival in sorted({study.method(row) for row in rows if study.rivals(row)}):
                same = [row for row in rows if study.rivals(row) and study.method(row) == rival and row["seed"] in ours]
                same = [row for row in same if row[study.figure]]
                theirs = {row["seed"]: float(row[study.figure]) for row in same}
                if theirs and mean(theirs.values()) < mean(ours[seed] for seed in theirs):
                    figures = f"{mean(theirs.values()):.1f} | {mean(ours[seed] for seed in theirs):.1f}"
                    where = f"| {study.file} | {', '.join(names)} | {rival} | {study.words}"
                    yield f"{where} | {figures} | {len(theirs)} |", rows


def _searches() -> Iterator[tuple[str, list[Row]]]:
    """Yield a line for every cost at which another search of own scores is nearer to the best score known."""
    for (score, graph, n), rows in grouped(read("own_score"), "score", "graph", "n").items():
        found = {search: own_score.gaps(own, rows) for (search,), own in grouped(rows, "search").items()}
        for search, gaps in found.items():
            for cost in own_score.SHOWN:
                theirs, ours = gaps.get(cost, []), found["drbo"].get(cost, [])
                if len(theirs) == len(ours) > 0 and mean(theirs) < mean(ours) - own_score.SAME:
                    where = (
                        f"| own_score | {own_score.SCORES[score]}, {graph}, {n} rows | {search} | distance from the "
                    )
                    words = f"best score after {cost} families per column"
                    yield f"{where}{words} | {mean(theirs):.1f} | {mean(ours):.1f} | {len(ours)} |", rows


def surrogate() -> tuple[str, list[Row]]:
    """Return on how many sparse tables the search without a surrogate asked for fewer local scores, as good a graph."""
    rows = read("expensive")
    fewer, sets = 0, []
    for part in grouped(rows, "graph", "seed").values():
        found = {row["surrogate"]: row for row in part}
        if {"gp", "no-surrogate"} <= found.keys():
            sets += [found["gp"], found["no-surrogate"]]
            same = float(found["no-surrogate"]["score"]) >= float(found["gp"]["score"]) - own_score.SAME
            fewer += same and int(found["no-surrogate"]["n_local"]) < int(found["gp"]["n_local"])
    return (
        f"Without its surrogate the search of `gp` found as good a graph with fewer local scores on {fewer} of "
        f"{len(sets) // 2} sparse tables.\n"
    ), sets


def section() -> str:
    """Return the section of the page."""
    found, used = [*lines(), *_searches()], []
    for _, rows in found:
        used += rows
    words, sets = surrogate()
    titles = "study | tables | method | what is counted | its figure | ours | tables that both answered"
    table = header(titles) + "".join(f"{line}\n" for line, _ in found)
    return (
        "\n## In the studies of single questions\n\nFrom the rows of `columns` and `gaussian_networks` (FLOP, BOSS), "
        "`nongaussian` (LiNGAM), `interventions_simulated` (GIES, GnIES, UT-IGSP, context columns) and `own_score` "
        f"(other searches). Less is better.\n\n{table}\n{words}\n{versions.said([*used, *sets])}\n"
    )
