"""The fields of a dataclass as a table: their limits and meaning, or the comment behind them in the source."""

import inspect
import re
from dataclasses import MISSING, Field, fields
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

COMMENTED = re.compile(r"^    (\w+): [^#\n]+#[ ]*(.+)$", re.MULTILINE)
Cell = str | nodes.literal


class Fields(SphinxDirective):
    """``fields`` with the place of a dataclass, such as ``drbo.settings:Settings``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].partition(":")
        owner = getattr(import_module(module), name)
        if any(field.metadata for field in fields(owner)):
            return [
                _table(
                    ["name", "default", "allowed", "paper", "meaning"], [_knob(f) for f in fields(owner) if f.metadata]
                )
            ]
        comments = dict(COMMENTED.findall(inspect.getsource(owner)))
        rows: list[list[Cell]] = [[_code(f.name), comments.get(f.name, "")] for f in fields(owner)]
        return [_table(["name", "what it holds"], rows)]


def _knob(field: Field[Any]) -> list[Cell]:
    limits = field.metadata
    low, high, below = limits["low"], limits["high"], limits["below"]
    allowed = ", ".join(limits["options"])
    if low is not None:
        top = f"{high:g}]" if high is not None else f"{below:g})" if below is not None else ""
        allowed = f"[{low:g}, {top}" if top else f"at least {low:g}"
    default: Cell = "" if field.default is MISSING else _code(repr(field.default))
    return [_code(field.name), default, allowed, limits["symbol"], limits["meaning"]]


def _code(text: str) -> nodes.literal:
    return nodes.literal("", text)


def _table(head: list[str], rows: list[list[Cell]]) -> nodes.table:
    group = nodes.tgroup("", *[nodes.colspec(colwidth=1) for _ in head], cols=len(head))
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *[_row(row) for row in rows])
    return nodes.table("", group, classes=["fields"])


def _row(cells: list[Any]) -> nodes.row:
    texts = [nodes.Text(cell) if isinstance(cell, str) else cell for cell in cells]
    return nodes.row("", *[nodes.entry("", nodes.paragraph("", "", text)) for text in texts])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("fields", Fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
