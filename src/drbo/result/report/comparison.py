"""Two runs side by side as one HTML file: which links both have, where they differ, and what may be the reason."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from markupsafe import Markup

from drbo.data.files.files import write_file
from drbo.result.compare import other_columns
from drbo.result.files.export import printable
from drbo.result.report.content import Content
from drbo.result.report.edge_columns import COLUMNS
from drbo.result.report.links import DIFFERENCES, Link, links_of, shared_measures
from drbo.result.report.page import rendered, setting_rows
from drbo.result.report.plain_words import PlainWords, listed
from drbo.result.report.side_by_side import side_by_side
from drbo.result.result import Result
from drbo.result.words.summary import counted

HASH_LENGTH = 12  # of the digits that are shown


def write_comparison(results: tuple[Result, Result], names: tuple[str, str], path: str | Path) -> Path:
    """Write the comparison of two runs into a file and return its path; ``names`` are what the runs are called."""
    path = Path(path)
    write_file(path, comparison_html(results, names).encode(errors="backslashreplace"))
    return path


def comparison_html(results: tuple[Result, Result], names: tuple[str, str]) -> str:
    """Return two runs side by side as a page: complete, offline, and forbidden by its own policy to load anything."""
    comparison = RunComparison(results, names)
    classes = {link.pair: f"{link.kind} link-{link.number}" for link in comparison.links}
    pictures = side_by_side(results, comparison.places, classes)
    titles = [
        f"The graph of {name}: {one.headline}" for name, one in zip(comparison.names, comparison.sides, strict=True)
    ]
    return rendered(
        "comparison.html.jinja",
        ("comparison.js",),
        pictures=[Markup(one.svg(title)) for one, title in zip(pictures, titles, strict=True)],
        comparison=comparison,
        version=results[0].provenance.versions.get("drbo", ""),
    )


class RunComparison:
    """What two runs have in common and where they differ, in words and figures."""

    def __init__(self, results: tuple[Result, Result], names: tuple[str, str]) -> None:
        first, second = results
        if set(first.names) != set(second.names):
            raise other_columns(names, (first.names, second.names))
        self.results = results
        self.names = (printable(names[0]), printable(names[1]))
        self.sides: tuple[Content, Content] = (Content(first), Content(second))
        where = {name: k for k, name in enumerate(second.names)}
        self.places = (list(range(len(first.names))), [where[name] for name in first.names])
        self.measures = shared_measures(results)
        self.links = links_of(results, self.places, self.measures)

    @property
    def heads(self) -> list[tuple[str, str]]:
        """Titles and meanings of the figures of each run."""
        return [(COLUMNS[name].title, COLUMNS[name].meaning) for name in self.measures]

    def of(self, *kinds: str) -> list[Link]:
        """Return the links of some kinds."""
        return [link for link in self.links if link.kind in kinds]

    def difference(self, kind: str) -> str:
        """Return a kind of difference in words."""
        return DIFFERENCES[kind].format(*self.names)

    @property
    def title(self) -> str:
        """What is compared."""
        return f"{self.names[0]} and {self.names[1]} side by side"

    @property
    def headline(self) -> str:
        """The comparison in one sentence."""
        counts = {kind: len(self.of(kind)) for kind in DIFFERENCES}
        alone = [f"{counts[f'only-{k}']} only in {name}" for k, name in enumerate(self.names)]
        shared = len(self.links) - counts["only-0"] - counts["only-1"]
        of_them = f", {counts['turned']} of them with another direction" if counts["turned"] else ""
        return f"{shared} link{'s' * (shared != 1)} in both runs{of_them}; {alone[0]}, {alone[1]}"

    @cached_property
    def words(self) -> PlainWords:
        """The comparison for readers without statistics."""
        return PlainWords(self._says(), (*self._reasons(), self._scores()), self._next())

    def _says(self) -> tuple[str, ...]:
        if not self.links:
            return ("Neither run links any two variables.",)
        words = []
        if self._same_answer:
            which = "the same link with the same direction"
            if len(self.links) > 1:
                which = f"the same {len(self.links)} links with the same directions"
            words.append(f"Both runs found the same graph: {which}.")
        elif self._shared:
            words.append(f"Both runs link {_named(self._shared)}.")
        else:
            words.append("The runs have no link in common.")
        for k, name in enumerate(self.names):
            if alone := self.of(f"only-{k}"):
                words.append(f"Only {name} links {_named(alone)}.")
        for link in self.of("turned")[:1]:
            more = len(self.of("turned")) - 1
            also = f"; the table lists {more} more" if more else ""
            said = [
                f"{name} has {printable(link.a)} {side.sign} {printable(link.b)}"
                for name, side in zip(self.names, link.sides, strict=True)
            ]
            words.append(f"They disagree about a direction: {said[0]}, {said[1]}{also}.")
        for k, name in enumerate(self.names):
            if told := self.of(f"told-{k}"):
                words.append(f"{name} is less sure about the direction of {_named(told)}.")
        return tuple(words)

    def _reasons(self) -> tuple[str, ...]:
        """Return what differs between the runs, besides their answers."""
        first, second = (result.table for result in self.results)
        differ = [row[0] for row in self.settings if row[0] not in ("command", "rows", "data")]
        words = []
        if first.sha256 and first.sha256 == second.sha256:
            words.append("Both were learned from the same rows.")
        else:
            words.append(f"They were learned from different tables ({first.n_rows:,} and {second.n_rows:,} rows).")
        if differ == ["seed"]:
            unsettled = ", so the search has not settled the links in which they differ"
            words.append(f"The settings differ only in the seed{'' if self._same_answer else unsettled}.")
        elif differ:
            reason = "" if self._same_answer else "; each of these can be the reason"
            words.append(f"They were made differently: {listed(differ)}{reason}.")
        else:
            words.append("They were made with the same settings.")
        return tuple(words)

    @property
    def _shared(self) -> list[Link]:
        return self.of("both", "turned", "told-0", "told-1")

    @property
    def _same_answer(self) -> bool:
        return len(self.of("both")) == len(self.links)

    def _scores(self) -> str:
        first, second = self.results
        if first.score_name != second.score_name or first.scoring.options != second.scoring.options:
            return "Their scores cannot be compared, because they are scores of different kinds."
        if not first.table.sha256 or first.table.sha256 != second.table.sha256:
            return "Their scores cannot be compared, because the tables differ."
        gain = second.score - first.score
        if abs(gain) <= 1e-9 * max(1.0, abs(first.score)):
            return "Their best graphs before pruning have the same score."
        better, worse = self.names[::-1] if gain > 0 else self.names
        return f"Before pruning, the graph of {better} scores {abs(gain):.4g} higher than that of {worse}."

    def _next(self) -> tuple[str, ...]:
        if self._same_answer:
            return ()
        words = ["Rely first on the links that both runs have."] if self._shared else []
        if any(result.confidence is None for result in self.results):
            words.append("Fit again with --bootstrap 100 to see which of the others return in resamples of the rows.")
        return tuple(words)

    @property
    def figures(self) -> list[tuple[str, str, str]]:
        """What both runs came to: label, and a value for each."""
        rows: list[tuple[str, Callable[[Result], str]]] = [
            ("score", lambda result: result.score_name),
            ("score before pruning", lambda result: f"{result.score:,.4f}"),
            ("score after pruning", lambda result: f"{result.pruned_score:,.4f}"),
            ("directions", lambda result: counted(result.directions)),
            ("proof", lambda result: Content(result).proof or "none"),
            ("local scores", lambda result: f"{result.n_local:,}"),
            ("search", lambda result: f"{result.seconds:,.1f} s"),
            ("stopped", lambda result: result.stopped or "not recorded"),
        ]
        edges = (str(self.sides[0].n_edges), str(self.sides[1].n_edges))
        return [("edges", *edges), *((name, write(self.results[0]), write(self.results[1])) for name, write in rows)]

    @cached_property
    def settings(self) -> list[tuple[str, str, str]]:
        """What differs in how the runs were made: label, and a value for each."""
        both = [_made_with(side) for side in self.sides]
        names = dict.fromkeys([*both[0], *both[1]])
        rows = [(name, *(one.get(name, "not set") for one in both)) for name in names]
        return [(name, a, b) for name, a, b in rows if a != b]


def _named(links: list[Link]) -> str:
    return listed([link.words for link in links])


def _made_with(content: Content) -> dict[str, str]:
    """Return how a run was made: label and value."""
    result = content.result
    found = {
        "command": result.call,
        "rows": f"{result.table.n_rows:,}",
        "data": f"sha256 {result.table.sha256[:HASH_LENGTH]}" if result.table.sha256 else "not recorded",
        "score": result.score_name,
        **{name.replace("_", " "): str(value) for name, value in result.scoring.options.items()},
        "pruning": result.pruner,
        "seed": str(result.seed),
        "resamples": "none" if result.confidence is None else str(result.confidence.count),
        **dict(content.knowledge),
        **{f"{name} version": version for name, version in result.provenance.versions.items()},
    }
    return found | {row["name"]: row["value"] for row in setting_rows(result.settings)}
