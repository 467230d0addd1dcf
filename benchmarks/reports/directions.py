"""Tables of directions: how many were claimed on which ground, and how many of them are right."""

from collections import Counter
from collections.abc import Iterable

from scipy.stats import beta

from benchmarks.experiments.kinds import HIDDEN, KINDS
from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped
from benchmarks.studies.directions import BINS, CAPS, PAIR_KINDS
from drbo.claims.checks.noise_check import SHOWN_PROBABILITY, direction_probability

#: Shares of the pairs that are decided, the surest first.
RATES = (0.1, 0.2, 0.5, 1.0)
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
REAL = """
## Real tables

Supported arrows of real tables with a known graph (`python -m benchmarks real_tables`): the light tunnel of the Causal
Chamber (Gamella, Peters & Buehlmann 2024), all of its 10,000 observational rows and samples of 1,000, and Sachs et al.
(2005). On none of them does a noise model fit as a whole. Scores that support no arrow are left out.

"""
TUEBINGEN = """
## Tuebingen pairs

Cause-effect pairs of Mooij et al. (2016), weighted by source where said so. Levels were chosen on the odd pairs; the
even ones were not looked at. A fit checks up to 3,000 rows. The last column decides by the larger p-value, the surest
pairs first.

"""


def sections(graphs: list[Row], every_pair: list[Row]) -> str:
    """Return all tables with what they show."""
    text = SIMULATED + grounds(graphs) + BY_KIND + kinds(graphs) + SHOWN + probabilities(graphs)
    return text + PAIRS + pairs(every_pair) + TUEBINGEN + tuebingen(every_pair)


def real_tables(rows: list[Row]) -> str:
    """Return how many supported arrows of real tables with a known graph are right, by ground."""
    text = REAL + header("table | rows | tables | score | by noise check: right (95%) | by class: right (95%)")
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


def tuebingen(rows: list[Row]) -> str:
    """Return the claims about the Tuebingen pairs, of both halves apart."""
    rates = ", ".join(f"{rate:.0%}" for rate in RATES)
    text = header(
        "rows at most | pairs | number | supported: right, wrong | probability: number, mean shown, true (95%) | "
        f"weighted share right (95%) where {rates} are decided"
    )
    parts = grouped((row for row in rows if row["kind"] == "tuebingen"), "n")
    for most in CAPS:
        for half in ("odd", "even", "all"):
            part = [
                row for row in parts.get((str(most),), []) if half in ("all", "odd" if int(row["seed"]) % 2 else "even")
            ]
            if not part:
                continue
            found = Counter(row["verdict"] for row in part)
            shown = [float(row["probability"]) for row in part if row["probability"]]
            mean = sum(max(value, 1 - value) for value in shown) / max(1, len(shown))
            true = interval(sum(value >= SHOWN_PROBABILITY for value in shown), len(shown))
            text += f"| {most:,} | {half} | {len(part)} | {found['forward']}, {found['reverse']} |"
            text += f" {len(shown)}, {mean:.2f}, {true} | {decisions(part)} |\n"
    return text


def decisions(part: list[Row]) -> str:
    """Return the weighted share of right decisions among the surest pairs, for several rates of decision."""
    found = []
    for row in part:
        if row["p_value_forward"]:
            forward, reverse = float(row["p_value_forward"]), float(row["p_value_reverse"])
            sure = direction_probability(max(forward, reverse), min(forward, reverse))
            found.append((sure, forward > reverse, float(row["weight"])))
    found.sort(key=lambda decision: -decision[0])
    total = sum(float(row["weight"]) for row in part)
    texts = []
    for rate in RATES:
        good = made = 0.0
        for _, right, share in found:
            if made >= rate * total:
                break
            made, good = made + share, good + share * right
        texts.append(interval(good, made))
    return ", ".join(texts)
