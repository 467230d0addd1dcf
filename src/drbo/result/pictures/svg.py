"""Pictures of a graph: an SVG file needs no plotting library, all other pictures need matplotlib."""

from html import escape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from drbo.data.files.files import write_file
from drbo.errors import ResultError
from drbo.result.pictures.routes import text_width
from drbo.result.report.drawing import Drawing
from drbo.result.result import Result
from drbo.result.words.plain_text import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The light colours of the report; plain text is in the same font as in other pictures.
STYLE = """
text { font-family: "DejaVu Sans", Verdana, sans-serif; fill: #1b2733; }
.node rect { fill: #f3f6f9; stroke: #8592a0; stroke-width: .8; }
.edge path, .edge circle { stroke: #52606d; } .edge polygon { fill: #52606d; }
.positive path { stroke: #0072b2; } .positive polygon, text.positive { fill: #0072b2; }
.negative path { stroke: #c65300; } .negative polygon, text.negative { fill: #c65300; }
.edge path, .edge polygon { opacity: .85; }
.hollow polygon { fill: #ffffff; stroke: #52606d; stroke-width: 1.2; opacity: 1; }
.positive.hollow polygon { fill: #ffffff; stroke: #0072b2; }
.negative.hollow polygon { fill: #ffffff; stroke: #c65300; }
.weak path { stroke-dasharray: 5 3; }
.band { fill: #ffffff; } .band-1 { fill: #eef3f8; } .band-name, .note { fill: #586878; }
"""
# Sizes in points.
NOTE_FONT, NOTE_ROW, MARGIN = 8.5, 16.0, 14.0


def graph_svg(result: Result) -> str:
    """Return the picture of a graph, with a legend, as the text of an SVG file."""
    drawing, notes = Drawing.of(result), result.reading.legend()
    width = max([drawing.box[2], *(text_width(text, NOTE_FONT) + 2 * MARGIN for _, text in notes)])
    height = drawing.box[3]
    words = [
        f'<text class="{kind}" x="{MARGIN:g}" y="{height + k * NOTE_ROW:.5g}" font-size="{NOTE_FONT:g}">'
        f"{escape(plain(text))}</text>"
        for k, (kind, text) in enumerate(notes)
    ]
    total = height + len(notes) * NOTE_ROW
    size = f'viewBox="0 0 {width:.5g} {total:.5g}" width="{width:.5g}" height="{total:.5g}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>'
    paper = f'<rect width="{width:.5g}" height="{total:.5g}" fill="#ffffff"/>'
    return "".join([start, paper, drawing.svg(), *words, "</svg>\n"])


def write_svg(result: Result, path: str | Path) -> None:
    """Write the picture of a graph to a file."""
    write_file(Path(path), graph_svg(result).encode())


def picture(result: Result, path: str | Path | None, ax: "Axes | None") -> "Axes | None":
    """Write an SVG file, or draw with matplotlib and return the axes."""
    if path is not None and ax is None and Path(path).suffix.lower() == ".svg":
        write_svg(result, path)
        return None
    axes: Axes = plots().draw(result, path=path, ax=ax)
    return axes


def plots() -> ModuleType:
    """Return :mod:`drbo.result.pictures.plot`, or say how to install what it draws with."""
    try:
        return import_module("drbo.result.pictures.plot")
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ResultError(
            "this picture needs matplotlib, which is not installed",
            hint="install it with: pip install 'drbo[plot]'; plot(\"graph.svg\") does without it",
        ) from error
