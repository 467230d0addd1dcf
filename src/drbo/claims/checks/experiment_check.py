"""Do the mechanisms of a graph fit the rows of each experiment, and which targets may be bends instead of changes?

An experiment moves a cause to values that the control does not have. If the effect of the cause is not a straight line,
a linear mechanism fits worse there, and the experiment seems to have changed it.
"""

from dataclasses import replace

import numpy as np

from drbo.arrays import Bools
from drbo.claims.checks.noise_check import MAX_CAUSES
from drbo.claims.claim import SEED, Claim, Context, Ruling, denials
from drbo.claims.record import ExperimentRecord, Misfit
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.independence.residual_tests import MIN_ROWS, Regression, ResidualTests, Sample
from drbo.machine.threads import one_blas_thread
from drbo.scores.base import Score
from drbo.scores.families import Families

#: Residuals depend on the causes below this p-value, which is corrected for all tests of the table.
LEVEL = 0.01
#: Rows of an experiment that are tested, at most.
MOST_ROWS = 500
#: Share of the mechanisms, over all experiments, that may change before none is taken for stable.
MOST_CHANGED = 0.5
#: What is said about arrows where more do.
UNSTABLE = "{} of {} mechanisms seem to change with the experiments, so that none can be taken for stable."
#: Targets or columns that are named.
SHOWN = 5


class Mechanisms(Claim):
    """The claim about the form of mechanisms: which targets may be bends, what does not fit, and what stays the same.

    Arrows that experiments show rest on mechanisms that stay the same. Where most of them seem to change, the score
    cannot tell a change from a mechanism that it does not model, and no arrow is supported by an experiment.
    """

    name, title = "mechanisms", "the test of mechanisms"
    denies = ("experiment",)

    def relevant(self, context: Context) -> bool:
        return context.answer.experiments is not None

    def run(self, context: Context) -> Ruling:
        answer, names = context.answer, context.table.names
        assert answer.experiments is not None
        record = checked_mechanisms(answer.experiments, context.score, context.table, answer.dag, SEED)
        found, cells = sum(one.kind == "found" for one in record.targets), (len(record.labels) - 1) * len(names)
        if found <= MOST_CHANGED * cells:
            return Ruling(record)
        arrows = np.argwhere(answer.dag).tolist()
        return Ruling(record, denials(self, {(names[i], names[j]): UNSTABLE.format(found, cells) for i, j in arrows}))


def checked_mechanisms(
    record: ExperimentRecord,
    score: Score,
    table: Statistics,
    dag: Bools,  # (d, d) over the columns of the table
    seed: int = 0,
) -> ExperimentRecord:
    """Return what experiments change, with the targets that may be bends and the mechanisms that do not fit.

    Raises an OutOfTimeError if the run has to end before all mechanisms are checked.
    """
    if score.mechanism is None:
        return record
    record = replace(record, misfits=_misfits(record, table, dag, score.mechanism, seed))
    bent = score.bent(table, Families.from_dags(dag[None]))
    if bent is None:
        return record
    place = {name: j for j, name in enumerate(table.names)}
    targets = [
        replace(one, bent=one.kind == "found" and bool(bent[place[one.column], record.labels.index(one.experiment)]))
        for one in record.targets
    ]
    return replace(record, targets=tuple(targets))


def form_remarks(record: ExperimentRecord, regression: Regression | None) -> list[str]:
    """Return in words which targets may be bends, and which mechanisms do not fit the rows of experiments."""
    lines, bent = [], [f"'{one.column}' in '{one.experiment}'" for one in record.targets if one.bent]
    if bent:
        lines.append(
            f"{len(bent)} of the targets may be nonlinear effects instead, which explain {_some(bent)} without a "
            "change; compare --score splines-experiments"
        )
    if columns := list(dict.fromkeys(f"'{one.column}'" for one in record.misfits)):
        form = "additive splines" if regression == "splines" else "straight lines"
        within = f"within {len({one.experiment for one in record.misfits})} of {len(record.labels)} experiments"
        whose = "its" if len(columns) == 1 else "their"
        lines.append(
            f"{form} do not fit everywhere: {within} the residuals of {_some(columns)} depend on {whose} causes"
        )
    return lines


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _misfits(
    record: ExperimentRecord, table: Statistics, dag: Bools, regression: Regression, seed: int
) -> tuple[Misfit, ...]:
    """Test, within each experiment, whether the residual of each column is independent of its causes."""
    experiments, rng, p_values = table.runs, np.random.default_rng(seed), dict[tuple[str, str], float]()
    kinds = experiments.kinds(table.names)
    for code, label in enumerate(record.labels):
        rows = np.flatnonzero(experiments.codes == code)
        if len(rows) > MOST_ROWS:
            rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
        if len(rows) < MIN_ROWS:
            continue
        sample = Sample.of(table.take(rows, np.arange(table.n_columns)), seed)
        with one_blas_thread():
            tests = ResidualTests(sample.values, sample.categorical, regression, sample.serial)
            for node in np.flatnonzero(sample.testable & (kinds[code] != "hard")).tolist():
                current().check()
                causes = np.flatnonzero(dag[:, node] & (np.ptp(sample.values, axis=0) > 0)).tolist()
                if 0 < len(causes) <= MAX_CAUSES:
                    p_values[label, table.names[node]] = tests.family(node, causes).p_value
    level = LEVEL / max(1, len(p_values))
    return tuple(Misfit(experiment=e, column=name) for (e, name), p in p_values.items() if p < level)
