"""The tools of ``drbo mcp``: what each takes, and the command or the answer that it becomes."""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Literal, get_args

from drbo.design import Missing
from drbo.errors import SettingsError

LONGEST, MOST = 2_000, 5_000  # characters of a text, texts of a list
LIMIT, MOST_SECONDS = 300, 3_600  # seconds of a call, unless told otherwise; at most

ArgumentKind = Literal["path", "text", "texts", "seconds", "count"]
_SCHEMAS: dict[ArgumentKind, dict[str, Any]] = {
    "path": {"type": "string"}, "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "seconds": {"type": "integer", "minimum": 1, "maximum": MOST_SECONDS},
    "count": {"type": "integer", "minimum": 1, "maximum": 10_000},
}  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """One argument of a tool: its kind, what it means, the option it becomes, and what it may be."""

    kind: ArgumentKind
    meaning: str
    option: str = ""
    among: tuple[str, ...] = ()

    def checked(self, name: str, value: Any, start: Path) -> list[str]:
        """Return the words of a command, or refuse the value."""
        texts = value if self.kind == "texts" else [value]
        if self.kind in ("seconds", "count"):
            low, high = _SCHEMAS[self.kind]["minimum"], _SCHEMAS[self.kind]["maximum"]
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise SettingsError(f"{name} must be a whole number from {low} to {high:,}, got {value!r:.80}")
            texts = [f"{value}s" if self.kind == "seconds" else str(value)]
        if not isinstance(texts, list) or len(texts) > MOST or not all(map(_is_text, texts)):
            raise SettingsError(f"{name} must be {'a list of texts' if self.kind == 'texts' else 'a text'}")
        if self.among and value not in self.among:
            raise SettingsError(f"{name} must be one of {', '.join(self.among)}, got {value!r:.80}")
        if self.kind == "path":
            texts = [str(inside(start, value))]
        return [f"{self.option}={text}" if self.option else text for text in texts]


@dataclass(frozen=True)
class Tool:
    """A tool; ``command`` is the one that it runs, if any."""

    about: str
    parts: Mapping[str, Argument]
    required: tuple[str, ...]
    command: str = ""

    def described(self, name: str) -> dict[str, Any]:
        """Return the tool as a list of tools shows it."""
        shown = {
            one: _SCHEMAS[part.kind]
            | ({"enum": list(part.among)} if part.among else {})
            | {"description": part.meaning}
            for one, part in self.parts.items()
        }
        schema = {"type": "object", "properties": shown, "required": list(self.required), "additionalProperties": False}
        return {"name": name, "description": self.about, "inputSchema": schema}


TABLE = Argument("path", "a table: CSV, TSV, Excel, Parquet, ... in the folder")
RUN = Argument("path", "the folder of a run, as fit wrote it")
CAUSE, EFFECT = Argument("text", "the column that acts", "--from"), Argument("text", "the column that responds", "--to")
TIME = Argument("seconds", f"seconds that this may take; {LIMIT} unless told otherwise", "--time-limit")
USE = {
    "drop": Argument("texts", "columns that are left out"),
    "types": Argument("texts", "what columns hold, as 'sex=category' (number, category, ordered)"),
    "missing": Argument("text", "what to do about missing values", "--missing", get_args(Missing)),
}
TOOLS = {
    "check": Tool("Describe a table, name its problems and what solves them.", {"table": TABLE, "time_limit": TIME},
                  ("table",), "check"),
    "fit": Tool(
        "Learn the causal graph of a table into a new folder. Edges are supported, assumed or open.",
        {
            "table": TABLE, "run": Argument("path", "a new folder for the run", "--output"), **USE,
            "forbid": Argument("texts", "edges that cannot be, as 'a->b'", "--forbid"),
            "require": Argument("texts", "edges that must be, as 'a->b'", "--require"),
            "tiers": Argument("text", "columns from earliest to latest, as 'age,sex;dose;outcome'", "--tiers"),
            "roots": Argument("texts", "columns that nothing in the table causes", "--root"),
            "randomised": Argument("texts", "columns that chance alone decided", "--randomised"),
            "outcome": Argument("text", "the column that matters", "--outcome"),
            "groups": Argument("text", "a column that says which rows belong together", "--groups"),
            "time_limit": TIME,
        },
        ("table", "run"), "fit",
    ),
    "edges": Tool("List the edges of a run, with what is known of each direction.", {"run": RUN}, ("run",)),
    "why": Tool("Say why an edge is there and points as it does.", {"run": RUN, "cause": CAUSE, "effect": EFFECT},
                ("run", "cause", "effect")),
    "ask": Tool(
        "Return the question to a person who knows the field whose answer settles most; the answer becomes a forbid of "
        "the next fit. 'known': questions already asked, as 'a->b'.",
        {"run": RUN, "known": Argument("texts", "pairs that were asked about, as 'a->b'")}, ("run",),
    ),
    "effects": Tool("Estimate effects in the graph of a run, with intervals.",
                    {"run": RUN, "table": TABLE, "cause": CAUSE, "effect": EFFECT, "time_limit": TIME},
                    ("run", "table"), "effects"),
    "next": Tool(
        "Rank the experiments that would settle the graph of a run.",
        {"run": RUN, "goal": Argument("text", "graph, 'a->b' or effects-on:b", "--goal"),
         "rows": Argument("count", "planned rows of an experiment", "--rows"), "time_limit": TIME}, ("run",), "next",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ToolCall:
    """What a call of a tool asks for: the words of a command, or something about a run."""

    words: list[str]
    run: Path
    pair: tuple[str, str] | None
    skipped: list[list[str]]
    read: Callable[[dict[str, Any], dict[str, Any] | None], dict[str, Any]]


def request_of(name: str, arguments: Any, start: Path) -> ToolCall:
    """Return what a call asks for; every argument is checked, and every file must lie in the folder."""
    tool = TOOLS[name]
    if not isinstance(arguments, dict) or set(arguments) - set(tool.parts) or set(tool.required) - set(arguments):
        raise SettingsError(f"{name} takes {', '.join(tool.parts)}, and needs {', '.join(tool.required)}")
    checked = {one: tool.parts[one].checked(one, value, start) for one, value in arguments.items()}
    run = inside(start, arguments["run"]) if "run" in arguments else start
    pair = (str(arguments["cause"]), str(arguments["effect"])) if {"cause", "effect"} <= set(arguments) else None
    skipped = [text.split("->", 1) for text in checked.get("known", []) if "->" in text]

    def read(view: dict[str, Any], question: dict[str, Any] | None) -> dict[str, Any]:
        return {"edges": _edges, "why": _why, "ask": _ask}[name](view, question, pair)

    return ToolCall(_command(tool, checked) if tool.command else [], run, pair, skipped, read)


def inside(start: Path, text: str) -> Path:
    """Return a path in a folder; links are followed first.

    Examples
    --------
    >>> inside(Path("/home/me"), "/etc/passwd")
    Traceback (most recent call last):
    ...
    drbo.errors.SettingsError: '/etc/passwd' is not in the folder in which drbo mcp was started
    """
    name, mark, part = text.partition("::")  # a table of a database
    path = (start / name).resolve()
    if not path.is_relative_to(start.resolve()):
        raise SettingsError(f"{text!r:.200} is not in the folder in which drbo mcp was started")
    return path.with_name(f"{path.name}{mark}{part}")


def _command(tool: Tool, checked: Mapping[str, list[str]]) -> list[str]:
    files = [checked[one][0] for one in ("run", "table") if one in checked and not tool.parts[one].option]
    options = [word for one, words in checked.items() for word in words if tool.parts[one].option]
    options += [f"--{one}={_line(checked[one])}" for one in ("drop", "types") if one in checked]
    if "time_limit" not in checked:
        options.append(f"--time-limit={LIMIT}s")
    return [tool.command, *options, "--", *files]


def _line(names: list[str]) -> str:
    """Return names as one line of CSV, which is how an option takes a list."""
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def _edges(view: dict[str, Any], _question: Any, _pair: Any) -> dict[str, Any]:
    nodes = [one["name"] for one in view["graph"]["nodes"]]
    edges = [
        {"source": nodes[one["source"]], "target": nodes[one["target"]], "direction": one["direction"],
         "reason": one["facts"][0][2]}
        for one in view["graph"]["edges"]
    ]  # fmt: skip
    return {"headline": view["headline"], "kinds": view["kinds"], "edges": edges, "cut_short": view["cut_short"]}


def _why(view: dict[str, Any], _question: Any, pair: Any) -> dict[str, Any]:
    nodes = [one["name"] for one in view["graph"]["nodes"]]
    for one in view["graph"]["edges"]:
        ends = nodes[one["source"]], nodes[one["target"]]
        if set(ends) == set(pair):
            facts = [dict(zip(("name", "value", "meaning"), fact, strict=False)) for fact in one["facts"]]
            return {"source": ends[0], "target": ends[1], "direction": one["direction"], "facts": facts}
    raise SettingsError(f"there is no edge between {pair[0]!r:.80} and {pair[1]!r:.80}", hint="call edges")


def _ask(_view: Any, question: dict[str, Any] | None, _pair: Any) -> dict[str, Any]:
    if question is None:
        return {"question": None}
    a, b = question["a"], question["b"]
    words = f"Which of {a} and {b} can be a cause of the other? Or do you not know?"
    return {
        "question": words, "settles": question["settles"],
        "answers": {f"only {a}": {"forbid": f"{b}->{a}"}, f"only {b}": {"forbid": f"{a}->{b}"}},
    }  # fmt: skip


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST and "\0" not in value
