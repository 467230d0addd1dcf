"""The fields of a dataclass as a table: their limits and meaning, or the comment behind them in the source."""

import inspect
import re
from dataclasses import MISSING, Field, fields
from importlib import import_module
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

COMMENTED = re.compile(r"    (\w+): [^#]+#\s*(.*)")


class Fields(SphinxDirective):
    """``fields`` with the place of a dataclass, such as ``drbo.settings:Settings``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].partition(":")
        owner = getattr(import_module(module), name)
        if any(field.metadata for field in fields(owner)):
            rows = [["name", "default", "allowed", "paper", "meaning"], *map(_knob, fields(owner))]
        else:
            comments = dict(COMMENTED.findall(inspect.getsource(owner)))
            rows = [["name", "what it holds"]]
            rows += [[f"``{field.name}``", _text(comments.get(field.name, ""))] for field in fields(owner)]
        lines = [".. list-table::", "   :header-rows: 1", "   :class: fields", ""]
        for row in rows:
            lines += [f"   {'* -' if number == 0 else '  -'} {cell}" for number, cell in enumerate(row)]
        box = nodes.container()
        self.state.nested_parse(StringList(lines, source=owner.__module__), 0, box)
        return box.children


def _knob(field: Field[Any]) -> list[str]:
    limits = field.metadata
    low, high, below = limits["low"], limits["high"], limits["below"]
    allowed = " ".join(f"``{word}``" for word in limits["options"])
    if low is not None:
        top = f"{high:g}]" if high is not None else f"{below:g})" if below is not None else ""
        allowed = f"[{low:g}, {top}" if top else f"at least {low:g}"
    default = "" if field.default is MISSING else f"``{field.default!r}``"
    return [f"``{field.name}``", default, allowed, limits["symbol"], _text(limits["meaning"])]


def _text(words: str) -> str:
    return re.sub(r"([*|`_])", r"\\\1", words)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("fields", Fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
