"""Tables of figures: a value and its spread are one word, ``0.9 ± 1.1``; a page of wide tables gets a wide column."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

SPREAD = re.compile(r" \+- ")
WIDE = 5  # columns of a table that the usual width cannot hold
FEW = 2  # titles on a page, its own counted, that need no list


class Spreads(SphinxTransform):
    """Keep a line from breaking between a figure and its spread."""

    default_priority = 700

    def apply(self, **options: Any) -> None:
        for cell in self.document.findall(nodes.entry):
            for text in list(cell.findall(nodes.Text)):
                if SPREAD.search(text):
                    text.parent.replace(text, nodes.Text(SPREAD.sub("\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}", text)))


def widen(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Put the list of sections above a page with a wide table, not beside it; the style then gives it the room."""
    columns = [group["cols"] for group in doctree.findall(nodes.tgroup)] if doctree else []
    if max(columns, default=0) >= WIDE and page != "reference/api":
        context["meta"] = {**(context.get("meta") or {}), "hide-toc": True}
        if context.get("toc", "").count("<li>") > FEW:
            sections = f'<nav class="sections" aria-label="Sections of this page">{context["toc"]}</nav>'
            context["body"] = context["body"].replace("</h1>", f"</h1>\n{sections}", 1)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform; the theme reads the context with the default priority."""
    app.add_transform(Spreads)
    app.connect("html-page-context", widen, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
