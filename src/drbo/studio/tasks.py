"""What the worker of a studio computes, from plain values to plain values: nothing of it runs in the server.

The table and the result stay in the worker between tasks.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.arrays import Bools
from drbo.errors import DataError, DrboError
from drbo.graph.dag import meek_closure
from drbo.knowledge import Knowledge
from drbo.result.report.content import Content
from drbo.result.report.drawing import Drawing
from drbo.result.report.page import graph_data
from drbo.result.result import Result
from drbo.studio.edits import Edited, EditedSearch, moved, price_words
from drbo.studio.said import Said

if TYPE_CHECKING:
    import pandas as pd

BINS, LEVELS = 14, 8  # of a small histogram
MOST_ASKED = 60  # edges that are considered for a question
#: What an arrow is that only answers support.
STATED = "as you stated"
NOT_EARNED = "Without your answers the data do not support it."


class Desk:
    """The table and the result that a studio is about; each public method is a task."""

    def __init__(self) -> None:
        self._table: tuple[Any, pd.DataFrame] | None = None
        self._result: Result | None = None
        self._search: EditedSearch | None = None
        self._present: Edited | None = None
        self._known: Knowledge | None = None  # under which the present graph was found

    def table(self, path: str, said: dict[str, Any]) -> dict[str, Any]:
        """Describe the columns of a table as they are used, with the findings of a check."""
        from drbo.table_check import check

        known = Said.from_mapping(said)
        frame = self._read(path, known)
        everything = self._read(path, Said())
        for name in (*(name for name, _ in known.types), *filter(None, [known.groups])):
            if name not in frame:
                raise DataError(f"the table has no column {name!r:.80}", hint="reload the page")
        found = check(frame, known.design, known.policy).to_dict()
        looks = {one["name"]: one for one in found["columns"]}
        columns = [
            {"name": name, "bars": _bars(everything[name]), "dropped": name in known.drop, **looks.get(name, {})}
            for name in map(str, everything.columns)
        ]
        used = [name for name in map(str, frame.columns) if name != known.groups]
        return found | {"columns": columns, "names": used}

    def contradictions(self, names: list[str], said: dict[str, Any]) -> None:
        """Refuse statements that contradict each other, or name what is no column."""
        from drbo.constraints import Constraints

        Constraints.of(Said.from_mapping(said).knowledge, names)

    def view(self, folder: str, earned: list[list[str]] | None = None) -> dict[str, Any] | None:
        """Describe the result in a folder for the page; None: there is none.

        ``earned`` are the arrows that are supported without answers: others that are supported are marked as stated.
        """
        if not (Path(folder) / "result.json").is_file():
            self._result = None
            return None
        result = self._result = Result.load(folder)
        self._search = self._present = None
        content, drawing = Content(result), Drawing.of(result)
        summary = {"headline": content.headline, "figures": content.figures, "proof": content.proof}
        words = {name: list(getattr(content.words, name)) for name in ("says", "doubt", "next")}
        kinds = {kind: content.kinds[kind] for kind in ("supported", "assumed", "open")}
        graph = graph_data(drawing, content)
        for edge, one in zip(graph["edges"], content.edges, strict=True):
            edge["direction"] = one.direction
            if one.direction == "supported" and earned is not None and [one.source, one.target] not in earned:
                edge |= {"direction": STATED, "head": "hollow"}
                edge["facts"] = [["direction", STATED, f"{one.facts[0][2]} {NOT_EARNED}"], *one.facts[1:]]
        said_only = sum(edge["direction"] == STATED for edge in graph["edges"])
        kinds |= {"supported": kinds["supported"] - said_only} | ({STATED: said_only} if said_only else {})
        trace = result.search.trace
        course = [[float(x), float(y)] for x, y in zip(trace.seconds, trace.best, strict=True)]
        return {
            **summary, "words": words, "kinds": kinds, "graph": graph, "trace": course, "stopped": result.stopped,
            "argv": list(result.argv), "cut_short": result.cut_short, "score_name": result.score_name,
            "score": result.score,
        }  # fmt: skip

    def price(self, path: str, said: dict[str, Any], edited: dict[str, Any]) -> dict[str, Any]:
        """Search again from the present graph under edited statements: what moves, and what it costs."""
        was, now, result = Said.from_mapping(said).knowledge, Said.from_mapping(edited).knowledge, self._result
        if result is None:
            raise DataError("there is no graph yet", hint="start the search")
        if self._search is None or self._present is None:
            self._search = EditedSearch(result, self._frame(path, Said.from_mapping(said)))
            self._present, self._known = self._search.present(), result.knowledge
        if self._known != was:  # an edit before this one was overtaken
            self._present = self._search(was, self._present.dag)
        before = self._present
        after = self._present = self._search(now, before.dag)
        self._known = now
        price, scale = before.score - after.score, result.scoring.evidence_scale
        return {
            "price": price,
            "scale": scale,
            "words": price_words(price, scale),
            "moved": moved(before.graph, after.graph, result.names),
        }

    def effect(self, path: str, said: dict[str, Any], source: str | None, target: str) -> str:
        """Return an effect in words: of one column on another, or of all columns on one."""
        if self._result is None:
            raise DataError("there is no graph yet", hint="start the search")
        frame = self._frame(path, Said.from_mapping(said))
        return self._result.effects(frame, source, target).summary()

    def scatter(self, path: str, said: dict[str, Any], cause: str, effect: str) -> dict[str, Any]:
        """Return the two residuals of an edge, and the curve through them."""
        from drbo.studio.scatter import scatter

        result = self._result
        if result is None or not {cause, effect} <= set(result.names):
            raise DataError("the graph has no such edge")
        names, parents = result.names, result.dag[:, result.names.index(effect)]
        others = [name for name, is_parent in zip(names, parents, strict=True) if is_parent and name != cause]
        return scatter(self._frame(path, Said.from_mapping(said)), cause, effect, others)

    def supported(self) -> list[list[str]]:
        """Return the arrows of the result that are supported."""
        found = () if self._result is None else self._result.directions
        return [[one.cause, one.effect] for one in found if one.direction == "supported"]

    def compare(self, folders: tuple[str, str], names: tuple[str, str]) -> str:
        """Return two results side by side as a page."""
        from drbo.result.report.comparison import comparison_html

        first, second = map(Result.load, folders)
        return comparison_html((first, second), names)

    def question(self, skipped: list[list[str]]) -> dict[str, Any] | None:
        """Return the question whose answer would settle most directions on average; None: all are settled."""
        result = self._result
        if result is None:
            return None
        past = {frozenset(pair) for pair in skipped}
        asked = [
            (one.cause, one.effect, one.direction)
            for one in result.directions
            if one.direction != "supported" and frozenset((one.cause, one.effect)) not in past
        ]
        graph, place = result.mpdag, {name: k for k, name in enumerate(result.names)}
        best: dict[str, Any] | None = None
        for a, b, direction in asked[:MOST_ASKED]:
            settles = _settled(graph, place[a], place[b]) if a in place and b in place else 1.0
            if best is None or settles > best["settles"]:
                best = {"a": a, "b": b, "direction": direction, "settles": settles}
        return best

    def knowledge(self, said: dict[str, Any]) -> str:
        """Return the knowledge as a TOML file."""
        import json

        found = Said.from_mapping(said).knowledge.to_mapping()
        lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in found.items()]
        return "\n".join(["# Knowledge for drbo fit --knowledge FILE", *lines, ""])

    def dataset(self, name: str, folder: str) -> str:
        """Write a data set that ships with the package into the folder of the studio, and return its file."""
        from drbo.data.files.datasets import load
        from drbo.data.files.files import write_file

        found = load(name)
        if found.X is None:
            raise DataError(f"{found.name} is a network without rows", hint="choose sachs or greenhouse")
        path = Path(folder) / f"{found.name}.csv"
        write_file(path, found.frame().to_csv(index=False).encode(), 0o600)
        return str(path)

    def _read(self, path: str, said: Said) -> "pd.DataFrame":
        """Return the rows of a file without the columns that are left out; the file is read once."""
        from drbo.data.reading.read import read_table

        stamp = Path(path).stat()
        key = (path, stamp.st_mtime_ns, stamp.st_size)
        if self._table is None or self._table[0] != key:
            self._table = key, read_table(path)
        frame = self._table[1]
        return frame.drop(columns=[name for name in said.drop if name in frame])

    def _frame(self, path: str, said: Said) -> "pd.DataFrame":
        from drbo.data.checks.types import declared

        return declared(self._read(path, said), said.policy)


def _bars(column: "pd.Series[Any]") -> list[int]:
    """Return the counts of a small histogram."""
    values = column.dropna()
    if values.dtype.kind in "iuf" and len(values):
        numbers = values.to_numpy(float)
        return [int(count) for count in np.histogram(numbers[np.isfinite(numbers)], bins=BINS)[0]]
    return [int(count) for count in values.astype(str).value_counts().iloc[:LEVELS]]


def _settled(graph: Bools, i: int, j: int) -> float:
    """Return how many directions an answer about two linked columns settles, on average over both answers."""
    if not (graph[i, j] and graph[j, i]):
        return 1.0
    settled = []
    for a, b in ((i, j), (j, i)):
        told = graph.copy()
        told[b, a] = False
        try:
            settled.append(int((graph & ~meek_closure(told)).sum()))
        except DrboError:  # knowledge rules this answer out
            settled.append(1)
    return float(np.mean(settled))
