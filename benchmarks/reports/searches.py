"""Tables of searches: how few local scores they need, proofs of the optimum, and the order search beside others."""

from statistics import median

from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped, spread
from benchmarks.studies.efficiency import SWITCHED

#: The searches of the table; version 0.1 could also climb draws of the paper's networks.
SEARCHES = dict.fromkeys(("default", "no-surrogate"), "") | {
    "dropout": "dropout networks instead of Gaussian processes"
}
SEARCHES |= {part: words for part, (words, _) in SWITCHED.items()}
#: Scores closer than this are equal: fits of one family in different batches differ by less.
SAME = 0.01
#: A search that found the true graph may differ from its score by so much: both are rounded.
AT = 0.02


def efficiency(rows: list[Row]) -> str:
    """Return a line per data and part of the search."""
    text = header(
        "data | search | version | budget per node | runs | goal reached | local scores at the goal, median "
        "| DAG-equivalents spent | DAGs | SHD | CPU s"
    )
    merged = [{"drbo": "", **row, "data": "gp" if row["data"].startswith("gp") else row["data"]} for row in rows]
    groups, order = grouped(merged, "data", "part", "budget", "drbo"), list(SEARCHES)
    for data, part, budget, version in sorted(groups, key=lambda key: (key[0], order.index(key[1]), *key[2:])):
        runs = groups[data, part, budget, version]
        d = 10 if data == "gp" else int(data.split("ER")[0])
        hits = [int(row["local_at_goal"]) for row in runs if row["reached"] == "True"]
        middle = f"{median(hits):.0f}" if len(hits) > len(runs) / 2 else "-"
        spent = spread(int(row["n_local"]) / d for row in runs)
        others = " | ".join(spread(row[name] for row in runs) for name in ("n_evals", "shd", "cpu_seconds"))
        text += f"| {data} | {SEARCHES[part]} | {version.removesuffix('.dev0')} | {budget} | {len(runs)} | {len(hits)} "
        text += f"| {middle} | {spent} | {others} |\n"
    return text


#: What the searches of an expensive score leave out.
EXPENSIVE = {
    "gp": "everything",
    "full": "no lower fidelities",
    "no-sets": "no parent sets as a whole",
    "no-surrogate": "no surrogate",
    "single": "single edges only, no lower fidelities",
    "none": "single edges only, no lower fidelities, no surrogate",
}


def expensive(rows: list[Row]) -> str:
    """Return local scores and seconds to the best known graph of each data set; scores are those before pruning."""
    text = header(
        "data | search | score minus the best known | local scores to the best known | seconds to it "
        "| local scores in all | cost in all | seconds in all | score minus the true graph's | SHD after pruning "
        "| machine"
    )
    sets = grouped(rows, "graph", "seed")
    for row in sorted(rows, key=lambda row: (int(row["graph"].split("ER")[0]), int(row["seed"]), row["surrogate"])):
        same = sets[row["graph"], row["seed"]]
        top, score = max(float(other["score"]) for other in same), float(row["score"])
        to_best = _to_best(row, same)
        reached = f"{to_best[0]:.0f} | {to_best[1]:.1f}" if to_best else "not reached | "
        text += f"| {row['graph']}, seed {row['seed']} | {EXPENSIVE[row['surrogate']]} | {score - top:.2f} | {reached} "
        cost = row.get("cost") or row["n_local"]
        text += f"| {row['n_local']} | {cost} | {row['seconds']} | {score - float(row['true_score']):.2f} "
        text += f"| {row['shd']} | {row['machine']} |\n"
    return text


def parts(rows: list[Row]) -> str:
    """Return what each part of the search is worth on the data sets that all searches were made for."""
    text = header(
        "search | data sets at or above the true graph's score | at the best known | local scores to it, each set "
        "| local scores in all, each set"
    )
    every = {row["surrogate"] for row in rows}
    sets = [own for own in grouped(rows, "graph", "seed").values() if {row["surrogate"] for row in own} == every]
    for name, words in EXPENSIVE.items():
        own = [(row, _to_best(row, some)) for some in sets for row in some if row["surrogate"] == name]
        if not own:
            continue
        above = sum(float(row["score"]) >= float(row["true_score"]) - AT for row, _ in own)
        hits = [f"{reached[0]:,.0f}" if reached else "not reached" for _, reached in own]
        spent = ", ".join(f"{int(row['n_local']):,}" for row, _ in own)
        text += f"| {words} | {above} of {len(own)} | {sum(reached is not None for _, reached in own)} "
        text += f"| {', '.join(hits)} | {spent} |\n"
    return text


def _to_best(row: Row, every: list[Row]) -> tuple[float, ...] | None:
    """Return local scores and seconds until a search had the best score that any has found on the same data."""
    top = max(float(other["score"]) for other in every)
    steps = (tuple(map(float, step.split(":"))) for step in row["rises"].split())
    return next(((local, seconds) for local, seconds, value in steps if value >= top - SAME), None)


def certify(rows: list[Row]) -> str:
    """Return the proofs at 20 columns."""
    text = header("20 columns, 1,000 rows | score | proved | seconds, at most | local scores computed | GiB | machine")
    for (data, score), part in _part("certify", rows, "data", "score").items():
        proved = sum(float(row["gap"]) <= float(row["tolerance"]) for row in part)
        seconds, memory, local = (most(part, name) for name in ("seconds", "peak_gib", "n_local"))
        text += f"| {data} | {score} | {proved} of {len(part)} | {seconds:.1f} | {local:,.0f} | {memory:.1f} "
        text += f"| {part[0]['machine']} |\n"
    return text


def large(rows: list[Row]) -> str:
    """Return the proofs and bounds beyond 20 columns."""
    text = header(
        "data, 1,000 rows | score | proved | gap, at most | CPU seconds, at most | families examined "
        "| families kept | sets of columns followed | GiB"
    )
    for (data, score), part in _part("large", rows, "data", "score").items():
        told = [float(row["gap"]) for row in part if row["gap"]]
        gap = "no bound" if len(told) < len(part) else f"{max(told):,.1f}" if max(told) else "0"
        seconds, memory = most(part, "cpu_seconds"), most(part, "peak_gib")
        counts = " | ".join(f"{most(part, name):,.0f}" for name in ("n_local", "n_kept", "n_states"))
        text += f"| {data} | {score} | {told.count(0.0)} of {len(part)} | {gap} | {seconds:.1f} | {counts} "
        text += f"| {memory:.1f} |\n"
    return text


def agree(rows: list[Row]) -> str:
    """Return how often a search without the proof ends at the optimum."""
    text = header("data | score | route | runs that end at the optimum | local scores computed, median | seconds")
    for (data, score, route), part in _part("agree", rows, "data", "score", "route").items():
        equal = sum(row["equal"] == "True" for row in part)
        local = median(int(row["n_local"]) for row in part)
        text += f"| {data} | {score} | {route} | {equal} of {len(part)} | {local:,.0f} "
        text += f"| {spread(row['seconds'] for row in part)} |\n"
    return text


def _part(name: str, rows: list[Row], *columns: str) -> dict[tuple[str, ...], list[Row]]:
    return grouped((row for row in rows if row["part"] == name), *columns)


def most(part: list[Row], column: str) -> float:
    """Return the largest figure of a column."""
    return max(float(row[column]) for row in part)


def orders(rows: list[Row]) -> str:
    """Return for each kind of data the methods, ours first."""
    text = header(
        "data | rows | penalty | method | sets | highest score on | below the highest | SHD | SHD-C | seconds "
        "| no answer"
    )
    kinds = grouped(rows, "data", "graph", "n", "penalty")
    for kind in sorted(kinds, key=lambda key: (key[0], int(key[1].split("ER")[0]), key[1], int(key[2]), float(key[3]))):
        data, graph, n, penalty = kind
        best = {
            seed: max(float(row["found_score"]) for row in part if row["found_score"])
            for (seed,), part in grouped(kinds[kind], "seed").items()
        }
        methods = grouped(kinds[kind], "method")
        for (method,), own in sorted(methods.items(), key=lambda item: (item[0] != ("drbo",), item[0])):
            text += f"| {graph} {data} | {int(n):,} | {float(penalty):g} | {method} | {_ranked(own, best)} |\n"
    return text


def _ranked(own: list[Row], best: dict[str, float]) -> str:
    """Return the cells of one method."""
    answers = [row for row in own if row["found_score"]]
    lost = sorted({row["note"] for row in own if not row["found_score"]})
    told = f"{len(own) - len(answers)}: {', '.join(lost)}" if lost else ""
    if not answers:
        return f"{len(own)} | - | - | - | - | - | {told}"
    gaps = [best[row["seed"]] - float(row["found_score"]) for row in answers]
    figures = [
        spread(numbers) if (numbers := [float(row[name]) for row in answers if row[name]]) else "-"
        for name in ("shd", "shd_c", "seconds")
    ]
    top = sum(gap <= 1e-6 * (1 + abs(best[row["seed"]])) for gap, row in zip(gaps, answers, strict=True))
    return f"{len(own)} | {top} | {spread(gaps)} | {' | '.join(figures)} | {told}"


def below(rows: list[Row]) -> str:
    """Return on how many tables of each kind of score a search ended below another that only had another seed."""
    text = header("score | tables | kinds | columns | searches of each | tables where one is below another")
    for (score,), tables in sorted(grouped(rows, "score").items()):
        sizes = sorted(int(row["columns"]) for row in tables)
        kinds, searches = len({row["kind"] for row in tables}), len(tables[0]["found"].split())
        missed = sum(int(row["below"]) for row in tables)
        text += f"| `{score}` | {len(tables)} | {kinds} | {sizes[0]} to {sizes[-1]} | {searches} | {missed} |\n"
    return text + f"\n{sum(int(row['below']) for row in rows)} of {len(rows)} tables in all.\n"
