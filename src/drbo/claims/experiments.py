"""What experiments say about a graph: their targets, the class of graphs that is left, and why an arrow is shown.

A graph and its targets are one graph with a root for every experiment that points at its targets. Graphs that no
experiment tells apart have the same class of that larger graph (Yang et al. 2018; Squires, Wang & Uhler 2020).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.choice.auto import experiment_score
from drbo.claims.claim import Claim, Context, Ruling, denials
from drbo.claims.record import ExperimentRecord, Target
from drbo.claims.why import mpdag
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.graph.dag import dag_to_cpdag, meek_closure
from drbo.scores.base import Score
from drbo.scores.registry import build_score
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings

#: Of the test that a column has moved, before it is divided by the number of columns.
LEVEL = 0.01
#: Rounds of shaken orders without a better score that end a quick search.
QUICK = 3
#: Standard errors by which an effect should move with its cause, so that staying speaks against the arrow and moving
#: for it: a smaller change of its mechanism would not pay in the score.
CLEAR_SHIFT = 6.0
#: An effect follows its cause if it misses less than this share of the way.
MOST_MISSED = 0.5
#: What is said about such an arrow.
UNFOLLOWED = (
    "Experiment '{}' changes '{}', but '{}' stays as it is: something else, such as a hidden cause, links them."
)


def interventional_class(
    dag: Bools,  # (d, d)
    constraints: Constraints,
    changed: Bools,  # (E, d): which columns each experiment changes
) -> Bools:
    """Return the class of a graph with its targets and the knowledge: an edge is undirected if both ways are left."""
    told = np.unique(changed[changed.any(axis=1)], axis=0)
    d, n = len(dag), len(dag) + len(told)
    if n == d:
        return mpdag(dag, constraints)
    whole = np.zeros((n, n), dtype=bool)
    whole[:d, :d], whole[d:, :d] = dag, told
    graph = dag_to_cpdag(whole)
    graph[:d, d:] = False  # nothing causes an experiment
    inner = graph[:d, :d]
    graph[:d, :d] = inner & (constraints.allowed | ~inner.T | dag)
    return meek_closure(graph)[:d, :d]


def class_of(
    dag: Bools, constraints: Constraints, experiments: ExperimentRecord | None, cpdag: Bools | None = None
) -> Bools:
    """Return the equivalence class of a graph under the knowledge and, where there are any, its experiments."""
    if experiments is None:
        return mpdag(dag, constraints, cpdag)
    return interventional_class(dag, constraints, experiments.changed(constraints.names))


def shown_arrows(
    dag: Bools, names: tuple[str, ...], known_class: Bools, experiments: ExperimentRecord | None
) -> dict[tuple[str, str], str]:
    """Return the arrows (cause, effect) that experiments show, and why, in a sentence.

    Those are arrows of the class with exactly one end changed by some experiment, and arrows that follow from these.
    """
    if experiments is None:
        return {}
    changed, labels, markov = experiments.changed(names), experiments.labels[1:], dag_to_cpdag(dag)
    strength = np.full(changed.shape, -np.inf)
    for one in experiments.targets:
        strength[labels.index(one.experiment), names.index(one.column)] = one.margin
    found = {}
    for i, j in np.argwhere(dag & ~known_class.T).tolist():
        cause, effect = names[i], names[j]
        first, second = (np.where(changed[:, a] & ~changed[:, b], strength[:, a], -np.inf) for a, b in ((i, j), (j, i)))
        if (best := max(first.max(initial=-np.inf), second.max(initial=-np.inf))) > -np.inf:
            if first.max() == best:
                why = f"Experiment '{labels[int(first.argmax())]}' changes '{cause}', and '{effect}' follows."
            else:
                why = f"Experiment '{labels[int(second.argmax())]}' changes '{effect}', and '{cause}' stays as it is."
        elif markov[j, i]:
            why = "This direction follows from arrows that experiments show."
        else:
            continue
        found[cause, effect] = why
    return found


def experiment_record(
    score: Score,
    table: Statistics,
    dag: Bools,  # (d, d) over the columns of the table
) -> ExperimentRecord | None:
    """Return what each experiment changes in a graph, with the margins; None without experiments, or another score."""
    if (changes := score.changes_in(table, dag)) is None:
        return None
    found, targets = table.runs, tuple(Target(**one._asdict()) for one in changes)
    return ExperimentRecord(
        column=found.column, labels=found.labels, rows=tuple(found.counts.tolist()), targets=targets
    )


def unfollowed(
    score: Score,
    table: Statistics,
    dag: Bools,  # (d, d) over the columns of the table
) -> dict[tuple[str, str], str]:
    """Return arrows (cause, effect) that experiments speak against: the cause is changed, and the effect stays.

    Counted are experiments whose known or clearest target is the cause, if its linear effect along all paths of the
    graph would have moved the mean of the other column by six standard errors. The effect stays if its distribution
    does not differ from the control (Kolmogorov-Smirnov, level 0.01) in any of them. The two are then linked by
    something else, such as a hidden cause.
    """
    record, weights = experiment_record(score, table, dag), score.weights(table, dag)
    if record is None or weights is None:
        return {}
    total = np.linalg.inv(np.eye(len(dag)) - weights[0])  # effects along all paths
    place = {name: j for j, name in enumerate(table.names)}
    control, found, followed = table.values[table.runs.control], dict[tuple[str, str], str](), set[Any]()
    for code, label in enumerate(record.labels[1:], start=1):
        current().check()
        own, targets = table.values[table.runs.codes == code], record.targets_of(label)
        error = np.sqrt(own.var(axis=0) / len(own) + control.var(axis=0) / len(control))
        moved = np.abs(own.mean(axis=0) - control.mean(axis=0))
        for target in [one for k, one in enumerate(targets) if k == 0 or one.kind != "found"]:
            i = place[target.column]
            for j in np.flatnonzero(dag[i] & (np.abs(total[i]) * moved[i] >= CLEAR_SHIFT * error)).tolist():
                arrow = (target.column, table.names[j])
                if _compared(own[:, j], control[:, j])[1] > LEVEL:
                    found.setdefault(arrow, label)
                else:
                    followed.add(arrow)
    return {arrow: label for arrow, label in found.items() if arrow not in followed}


def followed_arrows(
    score: Score,
    table: Statistics,
    dag: Bools,  # (d, d) over the columns of the table
    record: ExperimentRecord,
) -> Bools:
    """Return the arrows (d, d) whose effect follows where an experiment moves the cause.

    Looked at is the experiment whose shift of the mean of the cause would, by the linear effect of the arrow, move the
    effect by most standard errors of its residual, and by at least six. The effect follows if it does so by more than
    half: if a hidden cause linked the two instead, it would not move. Where columns are no numbers, the experiment
    changes the cause and not the effect.
    """
    changed, weights = record.changed(table.names), score.weights(table, dag)
    if weights is None:
        return np.asarray(dag & ((changed[:, :, None] & ~changed[:, None]).any(axis=0)))
    farthest, found = np.zeros(dag.shape), np.zeros_like(dag)
    control = table.values[table.runs.control]
    for code in range(1, len(record.labels)):
        own = table.values[table.runs.codes == code]
        left = [rows - rows @ weights[0] for rows in (own, control)]
        error = np.sqrt(sum(rows.var(axis=0) / len(rows) for rows in left))
        shift = np.abs(weights[0] * (own.mean(axis=0) - control.mean(axis=0))[:, None])
        missed = np.abs(left[0].mean(axis=0) - left[1].mean(axis=0))
        farther = dag & (shift > farthest * error)
        farthest = np.where(farther, shift / error, farthest)
        found = np.where(farther, (shift >= CLEAR_SHIFT * error) & (missed < MOST_MISSED * shift), found)
    return found


class Unfollowed(Claim):
    """The claim that effects follow where experiments change their causes."""

    name, title = "experiments", "the test of effects under experiments"
    denies = ("experiment", "noise-check", "class")

    def relevant(self, context: Context) -> bool:
        return not context.inquiry.hidden and context.answer.experiments is not None

    def run(self, context: Context) -> Ruling:
        found = unfollowed(context.score, context.table, context.answer.dag)
        words = {edge: UNFOLLOWED.format(label, *edge) for edge, label in found.items()}
        return Ruling(found, denials(self, words))


@dataclass(frozen=True)
class Described:
    """One experiment of a table, as ``drbo check`` describes it."""

    label: str
    rows: int
    moved: tuple[str, ...]  # columns whose mean or spread differs from the control, the most different first
    suspected: tuple[str, ...]  # targets in the graph of a quick search, the largest margin first


def describe(table: Statistics) -> list[Described]:
    """Return what stands out in each experiment of a table, with the score that ``auto`` takes.

    A column has moved if a two-sample Kolmogorov-Smirnov test against the control, of categories a chi-squared test,
    rejects at the level of 0.01 divided by the number of columns.
    """
    experiments = table.runs
    score = build_score(experiment_score(table).name, table, {"penalty": "ebic"})
    dag = OrderSearch(score, Settings(order_patience=QUICK), max_searches=1).run().best.dags[0]
    record = experiment_record(score, table, dag)
    assert record is not None
    control, found = table.values[experiments.control], []
    for code, label in enumerate(experiments.labels[1:], start=1):
        own = table.values[experiments.codes == code]
        tests = [_compared(a, b, kind) for a, b, kind in zip(own.T, control.T, table.kinds, strict=True)]
        apart = np.array([distance for distance, _ in tests])
        moved = [j for j in np.argsort(-apart, kind="stable").tolist() if tests[j][1] < LEVEL / table.n_columns]
        suspected = tuple(one.column for one in record.targets if one.experiment == label)
        found.append(Described(label, len(own), tuple(table.names[j] for j in moved), suspected))
    return found


def _compared(sample: Floats, control: Floats, kind: str = "numeric") -> tuple[float, float]:
    """Return how far apart two samples are, from 0 to 1, and the p-value of the test that they are alike."""
    from scipy.stats import chi2_contingency, ks_2samp  # takes half a second to load

    if kind == "numeric":
        test = ks_2samp(sample, control, method="asymp")
        return float(test.statistic), float(test.pvalue)
    levels = np.unique(np.concatenate([sample, control]))
    counts = np.array([[(part == level).sum() for level in levels] for part in (sample, control)], dtype=np.float64)
    if len(levels) < 2:
        return 0.0, 1.0
    shares = counts / counts.sum(axis=1, keepdims=True)
    return float(np.abs(shares[0] - shares[1]).sum() / 2), float(chi2_contingency(counts).pvalue)
