"""Parameters that are described behind their name: ``name : what it is, over several lines``."""

import re
from typing import Any

from sphinx.application import Sphinx

SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Yields")
ENTRY = re.compile(r"(\S.*?) : (.*)")


def describe(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Move the words behind the colon, which numpydoc takes for a type, into the description."""
    section, out = "", []
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and set(lines[number + 1]) == {"-"}:
            section = line.strip()
        entry = ENTRY.fullmatch(line) if section in SECTIONS else None
        out += [entry[1], f"    {entry[2]}"] if entry else [line]
    lines[:] = out


def setup(app: Sphinx) -> dict[str, Any]:
    """Run before numpydoc, which listens with the default priority."""
    app.connect("autodoc-process-docstring", describe, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
