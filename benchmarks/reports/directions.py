"""Tables of directions: how many were claimed on which ground, and how many of them are right."""

from collections import Counter
from collections.abc import Iterable

from scipy.stats import beta

from benchmarks.experiments.kinds import HIDDEN, KINDS
from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped
from benchmarks.studies.directions import BINS, CAPS, PAIR_KINDS

GRAPHS = {"splines": "learned, `splines`", "bic-nv": "learned, `bic-nv`", "true": "true"}


SIMULATED = """## Directions of simulated graphs

Every edge of a graph is an arrow, and an arrow is right if it is in the true graph. A link that a hidden cause made is
wrong in both directions: what the class supports holds if nothing is hidden, so its share is also given without the
tables with hidden causes. Recall counts the right arrows by noise check among all true edges, found or not.

"""
BY_KIND = """
The same by kind of table, for graphs learned with `splines`. Contradicted: the noise check prefers the reverse.

"""
SHOWN = """
Probabilities of directions, given an edge that is true in one of the two directions: those of at least 0.7 are shown.

"""
PAIRS = """
## Simulated pairs

Two columns, by noise check: noise whose spread depends on the cause, multiplied noise, (x + noise)^3, additive noise,
and straight lines with Gaussian noise (about which nothing can be said).

"""


def sections(graphs: list[Row], every_pair: list[Row]) -> str:
    """Return all tables with what they show."""
    text = SIMULATED + grounds(graphs) + BY_KIND + kinds(graphs) + SHOWN + probabilities(graphs)
    return text + PAIRS + pairs(every_pair)


def interval(good: float, count: float) -> str:
    """Return a share with its 95% interval (Clopper & Pearson); counts may be sums of weights."""
    if count <= 0:
        return "-"
    low = 0.0 if good <= 0 else float(beta.ppf(0.025, good, count - good + 1))
    high = 1.0 if good >= count else float(beta.ppf(0.975, good + 1, count - good))
    return f"{good / count:.2f} ({low:.2f} to {high:.2f})"


def totals(rows: Iterable[Row]) -> Counter[str]:
    """Return the sums of all counts."""
    total = Counter[str]()
    for row in rows:
        total.update({key: int(value) for key, value in row.items() if str(value).isdigit()})
    return total


def grounds(rows: list[Row]) -> str:
    """Return the claims about simulated graphs by ground, all kinds of tables together."""
    seeds = sorted({int(row["seed"]) for row in rows})
    text = f"Ten kinds of tables with 10 to 12 columns, seeds {seeds[0]} to {seeds[-1]}"
    text += " (`python -m benchmarks directions`).\n\n"
    text += header(
        "graph | rows | all arrows right | by noise check: right, wrong | share right (95%) | recall | "
        "by class: right, wrong | share right (95%) | without hidden causes | seconds: fit, check"
    )
    for graph, words in GRAPHS.items():
        for (_, n), part in by_rows(rows, graph):
            total = totals(part)
            cells = [words, f"{int(n):,}", f"{total['right'] / max(1, total['edges']):.0%}"]
            for ground in ("noise-check", "class"):
                right, wrong = total[f"{ground} right"], total[f"{ground} wrong"]
                cells += [f"{right}, {wrong}", interval(right, right + wrong)]
                if ground == "noise-check":
                    cells.append(f"{right / max(1, total['true_edges']):.2f}")
            clear = totals(row for row in part if not row["kind"].startswith(HIDDEN))
            cells.append(interval(clear["class right"], clear["class right"] + clear["class wrong"]))
            times = ", ".join(_seconds(row.get(f"{name}_seconds") for row in part) for name in ("fit", "check"))
            text += f"| {' | '.join(cells)} | {times} |\n"
    return text


def _seconds(values: Iterable[str | None]) -> str:
    """Return the mean of the seconds that are there."""
    there = [float(value) for value in values if value]
    return f"{sum(there) / len(there):.2f}" if there else "-"


def by_rows(rows: list[Row], graph: str) -> list[tuple[tuple[str, ...], list[Row]]]:
    """Return the rows of one kind of graph by the number of rows of its tables, the smallest first."""
    parts = grouped((row for row in rows if row["graph"] == graph), "graph", "n")
    return sorted(parts.items(), key=lambda one: int(one[0][1]))


def kinds(rows: list[Row]) -> str:
    """Return the claims about graphs learned with splines by kind of table."""
    text = header(
        "tables | rows | arrows | right | by noise check: right, wrong | by class: right, wrong | "
        "contradicted: reverse true, arrow true, no edge | neither direction fits"
    )
    learned = grouped((row for row in rows if row["graph"] == "splines"), "kind", "n")
    for kind in KINDS:
        for (name, n), part in sorted(learned.items(), key=lambda one: int(one[0][1])):
            if name != kind:
                continue
            total = totals(part)
            claims = " | ".join(
                f"{total[f'{name} right']}, {total[f'{name} wrong']}" for name in ("noise-check", "class")
            )
            against = ", ".join(str(total[f"contradicted {end}"]) for end in ("reverse", "right", "none"))
            share = f"{total['right'] / max(1, total['edges']):.0%}"
            text += (
                f"| {kind} | {int(n):,} | {total['edges']} | {share} | {claims} | {against} | {total['neither']} |\n"
            )
    return text


def probabilities(rows: list[Row]) -> str:
    """Return shown probabilities of directions beside the share that is true."""
    titles = [f"from {low}: number, mean shown, true (95%)" for low in BINS]
    text = header(f"graph | rows | {' | '.join(titles)}")
    for graph, words in GRAPHS.items():
        for (_, n), part in by_rows(rows, graph):
            cells = []
            for low in BINS:
                count, total, true = (
                    sum(float(row[f"{key} {low}"]) for row in part) for key in ("shown", "sum", "true")
                )
                cells.append(f"{count:.0f}, {total / max(1, count):.2f}, {interval(true, count)}")
            text += f"| {words} | {int(n):,} | {' | '.join(cells)} |\n"
    return text


def pairs(rows: list[Row]) -> str:
    """Return the claims about simulated pairs."""
    text = header("pairs | rows | tables | supported: right, wrong | neither direction fits")
    parts = grouped(rows, "kind", "n")
    for kind in PAIR_KINDS:
        for n in CAPS:
            found = Counter(row["verdict"] for row in parts.get((kind, str(n)), []))
            if found:
                claims = f"{found['forward']}, {found['reverse']}"
                text += f"| {kind} | {n:,} | {found.total()} | {claims} | {found['neither']} |\n"
    return text
