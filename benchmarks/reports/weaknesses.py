"""The page "Where drbo is not the best tool", from the rows: every table of a method that does better than ours."""

from collections.abc import Iterator
from statistics import mean
from typing import NamedTuple

from benchmarks.experiments import EXPERIMENTS
from benchmarks.methods.registry import METHODS
from benchmarks.reports import behind, earlier, tables, versions
from benchmarks.reports.scores import gaps
from benchmarks.rows import Row, grouped

OURS = "drbo default"
#: "A fraction of the time": at most this share of our seconds.
FRACTION = 0.2
#: "No method is near the truth": the best method misses or invents more than this share of the true edges.
LOST = 0.5


#: What the data of an experiment do to ours, said where a rival is nearer on them.
REASONS = {
    "confounder": "a hidden common cause fakes edges between its children; ours keeps them (adjacency precision), and "
    "methods that threshold or shrink weights drop some",
    "weak": "edges near the noise: what is kept depends on the penalty more than on the search",
    "few_rows": "fewer rows than columns: a node with enough parents is explained perfectly",
    "standardised": "at 1,000 rows a penalty of 1 keeps edges by chance that a penalty of 2 does not",
    "null": "the fewest edges win",
    "sachs": "the known network has no v-structure, so a linear score settles none of its arrows, and the relations "
    "are not linear",
}
#: As dense as the truth: where that has no edge, it is the truth.
TOLD = ("null", "random graph")


class Duel(NamedTuple):
    """Ours against one rival on the data sets that both answered."""

    experiment: str
    data: str
    rival: str
    sets: int
    ours: float
    theirs: float
    our_seconds: float
    their_seconds: float


def distance_of(data: str, experiment: str) -> str:
    """Return the distance that counts: of classes where the score cannot tell their members apart."""
    declared = next(one for one in EXPERIMENTS[experiment].data if one.name == data)
    return "shd_c" if declared.score == "bic-nv" else "shd"


def duels() -> Iterator[Duel]:
    """Yield every pair of ours and a rival with common data sets; figures are means over these."""
    for experiment, declared in EXPERIMENTS.items():
        rows = tables.rows_of(experiment)
        for data in (one.name for one in declared.data):
            column = distance_of(data, experiment)
            found = {
                method: _by_seed([row for row in rows if (row["data"], row["method"]) == (data, method)], column)
                for method in METHODS
                if (not method.startswith("drbo") or method == OURS) and (experiment, method) != TOLD
            }
            ours = found.pop(OURS, {})
            for rival, theirs in found.items():
                if seeds := sorted(ours.keys() & theirs.keys()):
                    figures = (mean(part[seed][at] for seed in seeds) for at in (0, 1) for part in (ours, theirs))
                    yield Duel(experiment, data, rival, len(seeds), *figures)


def _by_seed(part: list[Row], column: str) -> dict[str, tuple[float, float]]:
    """Return mean distance and seconds of CPU of each data set; methods without a seed have several rows there."""
    return {
        seed: (mean(tables.numbers(same, column)), mean(map(_seconds, same)))
        for seed in {row["seed"] for row in part}
        if tables.numbers(same := [row for row in part if row["seed"] == seed and "cpu_seconds" in row], column)
    }


def _seconds(row: Row) -> float:
    """Return seconds of CPU; where nobody has counted them because it was stopped, seconds."""
    return float(row["cpu_seconds"] if row["cpu_seconds"] != "" else row["seconds"])


def failures() -> list[str]:
    """Return in words where ours has no answer, or one that took longer than the limit of the experiment.

    Some cells were run again with a longer limit, beside other work, so that CPU seconds count; a rival would have been
    stopped.
    """
    lines = []
    for experiment in EXPERIMENTS:
        rows = [row for row in tables.rows_of(experiment) if row["method"] == OURS]
        for data in dict.fromkeys(row["data"] for row in rows):
            part = [row for row in rows if row["data"] == data]
            limit = EXPERIMENTS[experiment].limit
            late = [row for row in part if not row.get("shd") or _seconds(row) > limit]
            if late:
                words = (
                    row["note"] or f"answered after {_seconds(row):.0f} CPU s, limit {limit:.0f} s" for row in late
                )
                notes = "; ".join(sorted(set(words)))
                lines.append(f"| {experiment} | {data} | {len(late)} of {len(part)} | {notes} |")
    return lines


def _row(duel: Duel) -> str:
    known = duel.data in tables.missed().get(duel.rival, [])
    rival = f"{duel.rival}, {tables.NOT_REPRODUCED}" if known else duel.rival
    return (
        f"| {duel.experiment} | {duel.data} | {rival} | {duel.theirs:.1f} | {duel.ours:.1f} "
        f"| {duel.their_seconds:.2f} | {duel.our_seconds:.2f} | {duel.sets} |"
    )


HEADER = (
    "| experiment | data | method | its distance | ours | its CPU seconds | ours | data sets |\n"
    "|---|---|---|---|---|---|---|---|\n"
)


def page() -> str:
    """Return the page."""
    every = list(duels())
    nearer = sorted((duel for duel in every if duel.theirs < duel.ours), key=lambda duel: duel.theirs - duel.ours)
    equal = [duel for duel in every if duel.theirs == duel.ours and duel.their_seconds <= FRACTION * duel.our_seconds]
    text = (
        "# Where drbo is not the best tool\n\nMade by `python -m benchmarks report` from the rows in "
        "`benchmarks/rows`, so it shrinks and grows with them. *Ours* is the estimator at its defaults (*drbo "
        "default* in the rows), told which score to maximise. A line compares the means over the data sets that both "
        "answered. The distance is SHD, or SHD-C where the score cannot tell members of an equivalence class apart "
        "(standardised and internally standardised data, Sachs).\n\n"
        f"## Another method is nearer to the truth ({len(nearer)} of {len(every)} comparisons)\n\n"
    )
    text += HEADER + "\n".join(_row(duel) for duel in nearer) + "\n" if nearer else "None in the rows.\n"
    told = dict.fromkeys(duel.experiment for duel in nearer if duel.experiment in REASONS)
    text += "".join(f"\n- {experiment}: {REASONS[experiment]}." for experiment in told) + "\n" * bool(told)
    text += f"\n## As near in at most {FRACTION:.0%} of the time\n\n"
    text += HEADER + "\n".join(_row(duel) for duel in equal) + "\n" if equal else "None in the rows.\n"
    late = failures()
    text += "\n## No answer, or one after the time limit\n\n"
    text += (
        "| experiment | data | cells | what happened |\n|---|---|---|---|\n" + "\n".join(late) + "\n"
        if late
        else "None in the rows.\n"
    )
    return text + nobody_is_right() + small_sets() + versions.listed(_rows()) + behind.section()


def _rows() -> list[Row]:
    rows = [row for name in EXPERIMENTS for row in tables.rows_of(name)]
    return [row for row in rows if row["method"] == OURS or not row["method"].startswith("drbo")]


def small_sets() -> str:
    """Return who is nearer on the small data sets of BGe and of binary data, where the best score is known."""
    lines = []
    for (score,), rows in grouped(earlier.small_rows(), "score").items():
        parts = {method: part for (method,), part in grouped(rows, "method").items()}
        best = {method: int((gaps(part, "best_score") == 0).sum()) for method, part in parts.items()}
        means = {method: mean(tables.numbers(part, "shd_c")) for method, part in parts.items()}
        for method in (name for name in parts if means[name] < means["drbo"]):
            cells = f"{means[method]:.2f} | {means['drbo']:.2f} | {best[method]} | {best['drbo']}"
            lines.append(f"| {score} | {method} | {cells} | {len(parts[method])} |")
    if not lines:
        return ""
    header = "| score | method | its SHD-C | ours | it has the best score | ours | data sets |\n" + "|---" * 7 + "|\n"
    return (
        "\n## Nearer with a lower score\n\nSmall data sets (`bge`, `logistic`), where the best score of all DAGs is "
        "known. The optimum of a score at penalty 1 is not always the truth, and a rival that stops short of it can be "
        f"nearer.\n\n{header}" + "\n".join(lines) + "\n"
    )


def nobody_is_right() -> str:
    """Return the data sets on which the best of all methods is far from the truth."""
    lines = []
    for experiment, declared in EXPERIMENTS.items():
        rows = tables.rows_of(experiment)
        for data in (one.name for one in declared.data):
            column, part = distance_of(data, experiment), [row for row in rows if row["data"] == data]
            edges = tables.numbers(part, "n_edges")
            means = {
                method: mean(found)
                for method in METHODS
                if (found := tables.numbers((row for row in part if row["method"] == method), column))
            }
            if edges and means and min(means.values()) > LOST * mean(edges) > 0:
                best = min(means, key=lambda method: means[method])
                ours = f"{means[OURS]:.1f}" if OURS in means else ""
                lines.append(f"| {experiment} | {data} | {mean(edges):.1f} | {best} | {means[best]:.1f} | {ours} |")
    if not lines:
        return ""
    header = "| experiment | data | true edges | nearest method | its distance | ours |\n|---|---|---|---|---|---|\n"
    return (
        "\n## No method is near the truth\n\nThe nearest method is off by more than half of the true edges.\n\n"
        + header
        + ("\n".join(lines) + "\n")
    )
