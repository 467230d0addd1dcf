"""What the theme leaves out for people who use a keyboard or a screen reader, added to the finished pages."""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

#: What the theme writes, and what stands in its place: levels of headings, names of regions and of links that are
#: pictures, and keys for what can be scrolled.
REPLACED = tuple(
    (re.compile(old), new)
    for old, new in (
        (r'<p class="caption" role="heading">', r'<p class="caption" role="heading" aria-level="2">'),
        (r'<aside class="sidebar-drawer">', r'<aside class="sidebar-drawer" aria-label="Site">'),
        (r'<aside class="toc-drawer', r'<aside aria-label="On this page" class="toc-drawer'),
        (r"<pre>", r'<pre tabindex="0">'),
        (r'<div class="(table-wrapper|output_subarea)', r'<div tabindex="0" class="\1'),
        (r'<th class="head"><p></p></th>|<th></th>', r"<td></td>"),
        (r'(<a class="[^"]*image-reference") (href="[^"]*"><img alt="([^"]+)")', r'\1 aria-label="\3" \2'),
        (r'(<a class="reference internal") (href="plot_[^"]*"><span class="doc">([^<]+)<)', r'\1 aria-label="\3" \2'),
        (r'(?<!</h1>\n)<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
    )
)


def improved(page: str) -> str:
    """Return a page of the theme with what is missing.

    Examples
    --------
    >>> improved("<pre>drbo demo</pre>")
    '<pre tabindex="0">drbo demo</pre>'
    """
    for old, new in REPLACED:
        page = old.sub(new, page)
    return page


def improve(app: Sphinx, failed: Exception | None) -> None:
    """Improve all pages of the theme; a report is a page of its own."""
    if failed is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if 'class="sidebar-drawer"' in text and (better := improved(text)) != text:
            path.write_text(better, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the last step of a build."""
    app.connect("build-finished", improve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
