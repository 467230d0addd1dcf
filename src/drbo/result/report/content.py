"""What the report says about a result, as words and figures; how they look is a matter of the page."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from drbo.claims.directions import EdgeDirection
from drbo.data.checks.facts import ColumnFacts
from drbo.errors import first_of
from drbo.graph.dag import dag_to_cpdag
from drbo.result.files.export import printable
from drbo.result.report.edge_columns import COLUMNS, FILTERS, EdgeColumn
from drbo.result.report.plain_words import PlainWords
from drbo.result.result import Result
from drbo.result.words.summary import CUT_SHORT, before_pruning, few_rows, runner_up, than_before_pruning

FIT = "drbo", "fit"  # how a command begins that names a file
SHOWN_RIVALS = 5  # equivalence classes beside the best
SHOWN_CHANGES = 6  # edges of each kind that a rival is described by
CITATION = """\
@inproceedings{duong2025causal,
  title     = {Causal Discovery via Bayesian Optimization},
  author    = {Duong, Bao and Gupta, Sunil and Nguyen, Thin},
  booktitle = {International Conference on Learning Representations},
  year      = {2025}
}"""


@dataclass(frozen=True)
class EdgePanel:
    """One row of the edge table."""

    source: str
    target: str
    direction: str  # supported, assumed or open
    sign: str  # what is written between both names
    cells: list[str]
    shares: list[float | None]  # lengths of the bars in the cells, 0 to 1
    strength: float | None  # what the filter looks at
    facts: list[list[str]]  # label, value, meaning


class Content:
    """The words of a report."""

    citation = CITATION

    def __init__(self, result: Result) -> None:
        self.result = result
        self.wording = result.reading.wording()
        table = result.edges()
        self.n_edges = len(table)
        self.kinds = Counter(one.direction for one in result.directions)
        self.n_weak = int(result.weak.sum())
        order = {name: place for place, name in enumerate(COLUMNS)}
        shown = [name for name in table.columns if name not in ("source", "target", "directed", "contradicted")]
        shown.sort(key=lambda name: order.get(name, len(order) - 1.5))  # strangers before the reason, a long text
        self.columns = [COLUMNS.get(name, EdgeColumn(name.replace("_", " "), "")) for name in shown]
        self.filter = self._filter(table)
        self.edges = [
            self._edge(record, one, sign, shown)
            for record, one, sign in zip(table.to_dict("records"), result.directions, self.wording.signs, strict=True)
        ]

    @property
    def title(self) -> str:
        """What the graph is about: the file that a command fitted, or the number of variables."""
        words = self.result.argv
        if words[:2] == FIT and len(words) > 2 and words[2][:1] not in ("-", ""):
            return f"Causal graph of {printable(Path(words[2]).name)}"
        return f"Causal graph of {self.result.reading.variables}"

    @cached_property
    def words(self) -> PlainWords:
        """The result in plain words."""
        words, few = self.wording.words, few_rows(self.result)
        return replace(words, says=(few, *words.says)) if few else words

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        edges = f"{self.n_edges} edge{'s' * (self.n_edges != 1)}"
        rows = f"{self.result.table.n_rows:,} rows"
        return f"{edges} among {self.result.reading.variables}, learned from {rows}{self.wording.counts}"

    @property
    def figures(self) -> list[tuple[str, str]]:
        """The run in figures: label and value."""
        result = self.result
        return [
            ("variables", f"{result.reading.n_variables:,}"),
            ("rows", f"{result.table.n_rows:,}"),
            ("edges", f"{self.n_edges:,}"),
            ("score", result.score_name),
            ("local scores", f"{result.n_local:,}"),
            *((f"tried by {one.name}", f"{one.n_local:,}") for one in result.search.fidelities),
            ("search", _duration(result.seconds)),
        ]

    @property
    def questions(self) -> tuple[str, ...]:
        """What to ask somebody who knows the field."""
        return self.result.reading.questions()

    @property
    def runner_up(self) -> str:
        """How far behind the next graph is, in words; empty where none is known."""
        if (found := runner_up(self.result)) is None:
            return ""
        return (
            f"The closest alternative is {found[1]}: it scores {found[0]:.4g} lower{than_before_pruning(self.result)}."
        )

    @property
    def proof(self) -> str:
        """What is proved about the score, in words; empty where nothing is."""
        result = self.result
        if result.proof is None:
            return ""
        best = "has the highest score" if result.gap == 0 else f"is at most {result.gap:.4g} below the highest score"
        return f"Proved: the graph{before_pruning(result)} {best} of {result.proof.valid_for}."

    @property
    def cut_short(self) -> str:
        """That another run may end elsewhere, in words; empty where the search ended by itself."""
        return CUT_SHORT if self.result.cut_short else ""

    @property
    def repeat(self) -> str:
        """What the call of this run gives when it is made again."""
        if self.result.cut_short:
            return f"{CUT_SHORT} This call repeats the run:"
        return (
            "This call gives the same graph, for the same table and seed and on the same kind of machine with the "
            "same versions:"
        )

    @property
    def rivals(self) -> list[dict[str, str]]:
        """The next best equivalence classes: how far behind, and by which edges they differ from the best."""
        top = self.result.top
        if len(top) < 2:
            return []
        best = self._links(top[0].edges)
        rows = []
        for entry in top[1 : SHOWN_RIVALS + 1]:
            marks = self._links(entry.edges)
            parts = (
                ("with", [marks[pair] for pair in marks if pair not in best]),
                ("without", [best[pair] for pair in best if pair not in marks]),
                (
                    "with another direction:",
                    [marks[pair] for pair in marks if marks[pair] != best.get(pair, marks[pair])],
                ),
            )
            words = "; ".join(f"{word} {first_of(found, SHOWN_CHANGES)}" for word, found in parts if found)
            rows.append({"behind": f"{entry.behind:.4g}", "words": words})
        return rows

    @property
    def resampling(self) -> str:
        """What the frequencies come from, in words; empty without a bootstrap."""
        found = self.result.confidence
        if found is None:
            return ""
        ways = {
            "bootstrap": "resamples of the rows, with replacement",
            "subsample": "random halves of the rows",
            "counted": "rows drawn with replacement",
            "block": "resamples of blocks of consecutive rows",
            "cluster": "resamples of whole clusters of rows",
            "imputation": "imputed copies of the table",
            "seeds": "searches on the same table with different seeds",
        }
        return (
            f"Frequencies come from the graphs that the same fit finds on {found.count} "
            f"{ways.get(found.kind, found.kind)}. Edges with a frequency below {found.cut:.2f} cannot be "
            f"distinguished from noise (threshold of Scutari & Nagarajan 2013): {self.n_weak} of the {self.n_edges} "
            "edges here. A frequency shows how stable an edge is, not how likely it is to be true."
        )

    @property
    def knowledge(self) -> list[tuple[str, str]]:
        """What the user knew, as label and words."""
        known = self.result.knowledge.to_mapping()
        arrows = {"required": "required edges", "forbidden": "forbidden edges"}
        rows = [
            (words, ", ".join(f"{a} → {b}" for a, b in known[key])) for key, words in arrows.items() if key in known
        ]
        if "tiers" in known:
            rows.append(("tiers, earliest to latest", "  |  ".join(", ".join(tier) for tier in known["tiers"])))
        rest = {key: value for key, value in known.items() if key not in ("required", "forbidden", "tiers")}
        rows += [(key.replace("_", " "), _words(value)) for key, value in rest.items()]
        return rows

    def _links(self, edges: Iterable[tuple[str, str]]) -> dict[frozenset[str], str]:
        """Return the links of a DAG in words, with the arrows of its class where that is the answer."""
        place = {name: k for k, name in enumerate(self.result.names)}
        graph = np.zeros((len(place), len(place)), dtype=bool)
        for a, b in edges:
            graph[place[a], place[b]] = True
        if self.result.score_equivalent:
            graph = dag_to_cpdag(graph)
        names = self.result.names
        return {
            frozenset((names[i], names[j])): f"{names[i]} {'—' if graph[j, i] else '→'} {names[j]}"
            for i, j in np.argwhere(graph).tolist()
            if i < j or not graph[j, i]
        }

    @cached_property
    def _data_column(self) -> dict[str, ColumnFacts]:
        return {column.name: column for column in self.result.table.audit.columns}

    def column_facts(self, node: int) -> list[list[str]]:
        """Return what is known about one variable: label and value."""
        names = self.result.names
        facts = [
            [words, ", ".join(names[k] for k in np.flatnonzero(found[node])) or "none"]
            for words, found in self.wording.linked.items()
            if found[node].any() or words != "direction undetermined"
        ]
        column = self._data_column.get(names[node])
        if column is not None and column.is_numeric:
            facts.append(["mean", f"{column.mean:.4g}"])
            facts.append(["standard deviation", f"{column.sd:.4g}"])
            facts.append(["range", f"{column.min:.4g} to {column.max:.4g}"])
        elif column is not None:
            facts.append(["levels", ", ".join(column.levels)])
        return facts

    def _edge(self, record: dict[Any, Any], one: EdgeDirection, sign: str, shown: list[str]) -> EdgePanel:
        cells = [column.write(record[name]) for name, column in zip(shown, self.columns, strict=True)]
        shares = [
            min(1.0, abs(float(record[name]))) if column.bar and not np.isnan(record[name]) else None
            for name, column in zip(shown, self.columns, strict=True)
        ]
        strength = None if self.filter is None else abs(float(record[self.filter["column"]]))
        facts = [["direction", one.direction, one.sentence]]
        facts += [
            [column.title, cell, column.meaning]
            for name, column, cell in zip(shown, self.columns, cells, strict=True)
            if cell and name != "direction"
        ]
        return EdgePanel(one.cause, one.effect, one.direction, sign, cells, shares, strength, facts)

    def _filter(self, table: Any) -> dict[str, Any] | None:
        for column, words in FILTERS:
            if column in table and len(table) and not table[column].isna().any():
                top = float(np.ceil(table[column].abs().max() * 20) / 20) if column == "standardised_weight" else 1.0
                return {"column": column, "label": words, "max": top}
        return None


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "yes" if value is True else str(value)
