"""Describes a table and names all of its problems before a fit; ``drbo check`` prints it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drbo.choices import Choices
from drbo.claims.checks.arms import looks_like_arms
from drbo.claims.checks.plausibility import root_kind
from drbo.claims.experiments import Described, describe
from drbo.data.checks.advice import Look, look_at
from drbo.data.checks.audit import audit, audit_arrows
from drbo.data.checks.doubts import TableProblem
from drbo.data.checks.facts import Finding
from drbo.data.checks.missing import missing_cells, table_policy
from drbo.data.checks.prepare import Prepared
from drbo.data.checks.types import declared
from drbo.data.reading.frames import as_frame
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, OutOfTimeError
from drbo.design import DataPolicy, Design
from drbo.errors import DataError, first_of
from drbo.gathering import Gathering, source_of
from drbo.graph.dag import dag_to_cpdag
from drbo.result.words.plain_text import plain, table
from drbo.scores.registry import build_score
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

SHOWN_COLUMNS = SHOWN_PROBLEMS = 60
#: Columns of an experiment that are named in one line.
SHOWN_NAMES = 5
#: What is said beyond the columns and the problems of a table takes at most so many seconds.
SECONDS = 1.5
#: What scale could do is judged by a quick search, for numeric tables of so many columns.
MIN_JUDGED, MAX_JUDGED = 3, 60
NOTHING_LEFT = "Fewer than 2 columns can be used, so no graph can be learned from this table."


class Words(NamedTuple):
    """What the choice of a score, a fit, known roots and arms are called where the text is read."""

    auto: str
    fit: str
    roots: Callable[[Sequence[str]], str]
    arms: Callable[[str], str]


PYTHON = Words(
    'score="auto"', "DrBO.fit", lambda names: f"add Knowledge(roots={list(names)})",
    lambda name: f"add Design(randomised=[{name!r}])",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TableCheck:
    """What :func:`check` found; as text, all of it in words."""

    n_rows: int
    n_columns: int  # with those that are no variables
    n_checked: int  # rows that were looked at: all, or a random sample
    look: Look  # columns, problems, and what solves these
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] | None = None  # of the audit; None: the table cannot be used, or is too large
    roots: tuple[str, ...] = ()  # columns that nothing in a table causes, by their names
    arms: tuple[str, ...] = ()  # columns that look like the arms of a trial
    experiments: tuple[Described, ...] = ()
    score: str = ""  # that auto chooses; empty: the table cannot be used, or is too large
    reasons: tuple[str, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Whether a fit takes the table as it is."""
        return not self.look.blocking

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        look = self.look
        return {
            **{name: getattr(self, name) for name in ("n_rows", "n_columns", "n_checked", "is_usable")},
            "columns": [one._asdict() for one in look.columns],
            "problems": [one._asdict() for one in look.problems],
            "remedies": {"drop": look.drop, "missing": look.missing, "types": dict(look.types), "na": list(look.na)},
            "notes": list(self.notes),
            "findings": None if self.findings is None else [asdict(one) for one in self.findings],
            "roots": list(self.roots),
            "experiments": [asdict(one) for one in self.experiments],
            "score_name": self.score or None,
            "reasons": list(self.reasons),
        }

    def text(self, name: str, words: Words = PYTHON) -> str:
        """Return all but what to do next."""
        look = self.look
        size = f"{name}: {self.n_rows:,} rows, {self.n_columns} columns"
        part = f"; everything below describes a random sample of {self.n_checked:,} rows"
        lines = [size + part * (self.n_checked < self.n_rows), "", self._columns()]
        lines += [f"  ... and {len(look.columns) - SHOWN_COLUMNS} more"] * (len(look.columns) > SHOWN_COLUMNS)
        if look.problems:
            lines += ["", "Doubts:" if self.is_usable else "Problems:", *problem_lines(look)]
        lines += self._usable(words) if self.is_usable else ()
        suggestions = list[str]()
        if self.roots:
            names, known = ", ".join(plain(name) for name in self.roots), plain(words.roots(self.roots))
            suggestions.append(f"  nothing else in a table causes {names}; if that is true here, {known}")
        for name in self.arms:
            what = f"  column '{plain(name)}' looks like the arms of a trial; if chance alone decided them"
            suggestions.append(f"{what}, {plain(words.arms(name))}")
        if suggestions:
            lines += ["", f"Suggestion{'s' * (len(suggestions) > 1)}:", *suggestions]
        return "\n".join(lines)

    def __str__(self) -> str:
        after = f"Next: {plain(self.look.answers) or 'fit it'}" if self.look.usable else stuck(self.look)
        return f"{self.text('table')}\n\n{after}"

    def _columns(self) -> str:
        """Return a line per column: its name, what it holds, what is missing, its values, what a fit makes of it."""
        rows = [
            [one.name, one.holds, f"{100 * one.missing:.0f}%" if one.missing else "-", one.used_as, one.values]
            for one in self.look.columns[:SHOWN_COLUMNS]
        ]
        return table(["column", "holds", "missing", "used as", "values"], rows, align="llrll")

    def _usable(self, words: Words) -> list[str]:
        """Return the notes, the audit and the choice of the score for a table that a fit accepts."""
        lines = ["", "Notes:", *(f"  {plain(note)}" for note in self.notes)] if self.notes else []
        if self.findings is not None:
            ordered = sorted(self.findings, key=lambda finding: not finding.serious)
            found = [f"  {'attention' if f.serious else 'note':<10} {plain(f.text)}" for f in ordered]
            lines += ["", "Audit:", *(found or ["  no problems found"])]
        else:
            lines += ["", "Audit: left out, because it takes too long here."]
        if self.experiments:
            rows = [[one.label, f"{one.rows:,}", _named(one.moved), _named(one.suspected)] for one in self.experiments]
            header = ["experiment", "rows", "shifted relative to the control", "suspected targets"]
            what = "Suspected targets are shifted columns whose shift other columns do not explain (a quick search; see"
            lines += ["", "Experiments:", table(header, rows, align="lrll"), f"  {what} {words.fit})."]
        if not self.score:
            return [*lines, "", f"The table is large: {words.fit} chooses the score and says why."]
        why = [f"  {plain(reason.removeprefix(f'score {self.score}: '))}" for reason in self.reasons]
        return [*lines, "", f"{words.auto} chooses {self.score}:", *why]


def check(X: Any, design: Design | None = None, policy: DataPolicy | None = None) -> TableCheck:
    """Describe a table, name all of its problems, and say what a fit would make of it.

    Parameters
    ----------
    X : a data frame, an array, the path of a file or of a folder, or a :class:`~drbo.data.reading.source.Source`. Of
        one that a fit reads piece by piece, a random sample of the rows is checked.
    design, policy : as in :class:`drbo.DrBO`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> found = check(pd.DataFrame({"id": range(50), "dose": rng.normal(size=50), "day": "2024-01-01"}))
    >>> found.is_usable, found.look.drop
    (False, ['id', 'day'])
    """
    source = source_of(X)
    frame, n_rows = (as_frame(X), None) if source is None else Gathering().sample(source)
    choices = Choices.of({"design": design, "policy": policy})
    frame, choices = declared(frame, choices.policy), _ready(choices)
    look = look_for_fit(frame, choices.design, choices.policy)
    n_rows = len(frame) if n_rows is None else n_rows
    found = TableCheck(n_rows=n_rows, n_columns=frame.shape[1], n_checked=len(frame), look=look)
    if look.usable and not choices.design.has_time:
        solved = _answered(frame, look, choices).table
        roots = tuple(name for j, name in enumerate(solved.names) if root_kind(solved, j))
        told = choices.design.randomised
        arms = tuple(name for j, name in enumerate(solved.names) if name not in told and looks_like_arms(solved, j))
        found = replace(found, roots=roots, arms=arms)
    if not found.is_usable:
        return found
    data = _ready(choices).preparation.prepare(frame)
    found = replace(found, notes=data.notes)
    return _examined(
        found, data.table, is_em=choices.policy.missing == "em", independent=choices.design.groups is False
    )


def _ready(choices: Choices) -> Choices:
    """Return the choices for a table whose columns hold already what was declared."""
    return replace(choices, policy=replace(choices.policy, types=None, na=()))


def _answered(frame: "pd.DataFrame", look: Look, choices: Choices) -> Prepared:
    """Return the checked table of a fit with the answers of a look."""
    policy = look.policy(choices.policy)
    left = declared(frame.drop(columns=look.drop), policy)
    return _ready(replace(choices, policy=policy)).preparation.prepare(left)


def look_for_fit(frame: "pd.DataFrame", design: Design, policy: DataPolicy) -> Look:
    """Look at the variables of a table as a fit would; what solves its problems is tried before it is said."""
    look, choices = first_look(frame, design, policy), Choices.of({"design": design, "policy": policy})
    if not look.blocking and (fault := _refusal(frame, Look((), ()), choices)):
        look = replace(look, problems=(*look.problems, TableProblem("", fault, "", blocks=True)))
    while look.usable and (fault := _refusal(frame, look, choices)):  # a remedy may bring another problem to light
        answer = look.policy(policy)
        left = declared(frame.drop(columns=look.drop), answer)
        kept = ~missing_cells(left).any(axis=1)
        if answer.missing == "drop" and kept.any():
            left = left.iloc[np.flatnonzero(kept)]
        more = look.joined(first_look(left, design, answer))
        look = more if more != look else replace(look, unsolved=fault)
    return look


def first_look(frame: "pd.DataFrame", design: Design, policy: DataPolicy) -> Look:
    """Look at the variables of a table as a fit would."""
    others = [name for name in design.labels if name in frame]
    given = {"on_constant": policy.on_constant, "on_collinear": policy.on_collinear}
    return look_at(frame.drop(columns=others), missing=table_policy(policy.missing), **given)


def _refusal(frame: "pd.DataFrame", look: Look, choices: Choices) -> str:
    """Return why a fit refuses a table with the answers of a look; empty: it takes it."""
    try:
        _answered(frame, look, choices)
    except DataError as error:
        return error.message
    return ""


def stuck(look: Look) -> str:
    """Say why there is no way to use a table."""
    return f"No change of columns or cells solves this: {plain(look.unsolved)}" if look.unsolved else NOTHING_LEFT


def _told(found: list[TableProblem]) -> str:
    """Say once what is wrong with several columns."""
    first, *others = found
    if not others:
        return first.text
    names = first_of((f"'{one.column}'" for one in others), SHOWN_NAMES)
    return f"{first.text}; the same holds for {names}"


def problem_lines(look: Look) -> list[str]:
    """Return one line per problem; what holds for several columns is said once."""
    alike = dict[str, list[TableProblem]]()
    for problem in look.problems:
        alike.setdefault(problem.text.replace(f"'{problem.column}'", "", 1) if problem.column else "", []).append(
            problem
        )
    told = [_told(found) for words, found in alike.items() if words] + [one.text for one in alike.get("", ())]
    lines = [f"  {k}. {plain(text)}" for k, text in enumerate(told[:SHOWN_PROBLEMS], 1)]
    more = len(told) - SHOWN_PROBLEMS
    return lines + [f"  ... and {more} more"] * (more > 0)


def _examined(found: TableCheck, checked: Statistics, *, is_em: bool, independent: bool) -> TableCheck:
    """Add the audit and the choice of the score, as far as there is time for them."""
    with suppress(OutOfTimeError), Deadline(SECONDS) as deadline:
        findings = audit(checked.control_rows, independent=independent).findings
        found = replace(found, findings=findings)
        deadline.check()
        whole = checked if is_em else checked.complete_rows  # imputed tables are complete
        name, _, reasons = Choices(score="auto").of_score(whole)
        found = replace(found, score=str(name), reasons=tuple(reasons))
        if checked.from_experiments:
            found = replace(found, experiments=tuple(describe(checked)))
        found = replace(found, findings=(*findings, *_about_scale(checked.control_rows)))  # the longest, tells least
    return found


def _about_scale(checked: Statistics) -> tuple[Finding, ...]:
    """Return what scale could do to arrows, judged by the settled arrows of a graph that is found in any units."""
    if "categorical" in checked.kinds or not MIN_JUDGED <= checked.n_columns <= min(MAX_JUDGED, checked.n_rows - 1):
        return ()
    score: Any = build_score("bic-nv", checked, {"penalty": "ebic"})
    dag = OrderSearch(score, Settings(order_patience=1), max_searches=1).run().best.dags[0]
    graph = dag_to_cpdag(dag)
    return audit_arrows(checked, dag, graph & ~graph.T)


def _named(names: tuple[str, ...]) -> str:
    return first_of(map(plain, names), SHOWN_NAMES) or "-"
