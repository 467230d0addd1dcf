"""Figures in tables: a value and its spread are printed as one word, ``0.9 ± 1.1``."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

SPREAD = re.compile(r" \+- ")


class Spreads(SphinxTransform):
    """Keep a line from breaking between a figure and its spread."""

    default_priority = 700

    def apply(self, **options: Any) -> None:
        for cell in self.document.findall(nodes.entry):
            for text in list(cell.findall(nodes.Text)):
                if SPREAD.search(text):
                    text.parent.replace(text, nodes.Text(SPREAD.sub("\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}", text)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_transform(Spreads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
