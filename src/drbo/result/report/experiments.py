"""The matrix of experiments and variables in the report: what each experiment changes, and how surely."""

from dataclasses import dataclass

from drbo.claims.checks.experiment_check import form_remarks
from drbo.result.files.export import printable
from drbo.result.result import Result


@dataclass(frozen=True)
class TargetMatrix:
    """One row per experiment beside the control, one column per variable that some experiment changes."""

    control: str
    variables: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]  # label, number of rows, margins or empty strings
    remarks: tuple[str, ...] = ()  # about the form of the mechanisms


def matrix(result: Result) -> TargetMatrix | None:
    """Return the matrix of a result; None where the rows come from no experiments.

    Examples
    --------
    >>> from drbo.claims.record import Claims, ExperimentRecord, Target
    >>> from drbo.result.records import Scoring, SearchRecord
    >>> found = ExperimentRecord(column="run", labels=("plain", "hot"), rows=(90, 40),
    ...     targets=(Target(experiment="hot", column="heat", margin=81.4),))
    >>> search = SearchRecord(dag=[[0]], score=0.0)
    >>> result = Result(names=("heat",), dag=[[0]], pruned_score=0.0, search=search,
    ...     scoring=Scoring(name="bic-experiments", equivalent=True), claims=Claims(experiments=found))
    >>> matrix(result).rows
    (('hot', '40', ('81.4',)),)
    """
    if (found := result.claims.experiments) is None:
        return None
    margins = {(one.experiment, one.column): f"{one.margin:.3g}" for one in found.targets}
    changed = [name for name in result.names if any(column == name for _, column in margins)]
    rows = [
        (printable(label), f"{count:,}", tuple(margins.get((label, name), "") for name in changed))
        for label, count in zip(found.labels[1:], found.rows[1:], strict=True)
    ]
    remarks = tuple(printable(line) for line in form_remarks(found, result.scoring.regression))
    return TargetMatrix(printable(found.labels[0]), tuple(printable(name) for name in changed), tuple(rows), remarks)
