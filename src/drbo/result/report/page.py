"""Renders a result as one HTML file, without trusting any name in it."""

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from drbo.data.files.files import write_file
from drbo.deadline import current
from drbo.result.report.arms import arm_table
from drbo.result.report.content import Content
from drbo.result.report.curve import convergence_svg
from drbo.result.report.drawing import Drawing
from drbo.result.report.experiments import matrix
from drbo.result.report.outcome import focus_of, outcome_page
from drbo.result.result import Result
from drbo.result.words.plain_text import plain
from drbo.settings import public_settings

HERE = files("drbo.result.report")
NOTEBOOK_EDGES = 12
WRITING_SECONDS = 0.001  # that a node or an edge takes when the page is written
LIBRARY = "vendor/cytoscape.min.js"
#: The one style element that cytoscape adds, for its own container; allowed by its hash.
LIBRARY_STYLE = ".__________cytoscape_container { position: relative; }"


def write_report(result: Result, path: str | Path) -> Path:
    """Write the report of a result into a file and return its path."""
    path = Path(path)
    write_file(path, report_html(result).encode(errors="backslashreplace"))  # a saved result may hold any text
    return path


def report_html(result: Result) -> str:
    """Return the report as a text: complete, offline, and forbidden by its own policy to load or send anything."""
    drawing, content = Drawing.of(result), Content(result)
    current().check(WRITING_SECONDS * (len(drawing.labels) + len(drawing.lines)))
    return rendered(
        "report.html.jinja",
        (LIBRARY, "graph.js", "report.js"),
        (LIBRARY_STYLE,),
        data=Markup(embedded(graph_data(drawing, content))),
        graph=Markup(drawing.svg(f"The graph: {content.headline}")),
        curve=Markup(convergence_svg(result.search.trace)),
        content=content,
        experiments=matrix(result),
        arms=arm_table(result),
        outcome=outcome_page(result),
        result=result,
        settings=setting_rows(result.settings),
    )


def rendered(template: str, programs: tuple[str, ...], styles: tuple[str, ...] = (), **parts: Any) -> str:
    """Return a page in the style of the report, with a policy that allows its own style and programs alone.

    Parameters
    ----------
    template : its file; what it shows is escaped unless it is Markup.
    programs : files of JavaScript. The page finds their texts in ``programs``, by file.
    styles : texts of styles that a program adds.
    """
    style, texts = source_of_page("report.css"), {name: source_of_page(name) for name in programs}
    return _template(template).render(
        policy=_policy([style, *styles], list(texts.values())),
        style=Markup(style),
        programs={name: Markup(text) for name, text in texts.items()},
        **parts,
    )


def notebook_html(result: Result) -> str:
    """Return the graph and the first edges for a notebook: static, light, without a program."""
    content = Content(result)
    graph = Markup(Drawing.of(result).svg(content.headline))
    return _template("notebook.html.jinja").render(graph=graph, content=content, most=NOTEBOOK_EDGES)


def embedded(value: Any) -> str:
    r"""Return JSON that no HTML parser can mistake for markup."""
    text = json.dumps(_without_controls(value), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def graph_data(drawing: Drawing, content: Content) -> dict[str, Any]:
    """Return what the interactive graph needs: places, lines, and the words of the details."""
    left, _, width, _ = drawing.box
    place = {name: k for k, name in enumerate(content.result.names)}
    nodes = [
        {
            "name": name,
            "label": drawing.labels[k],
            "x": round(float(drawing.centres[k, 0]), 1),
            "y": round(float(drawing.centres[k, 1]), 1),
            "width": round(float(drawing.widths[k]), 1),
            "facts": content.column_facts(place[name]),
        }
        for k, name in enumerate(drawing.names)
    ]
    edges = [
        {
            "source": line.source,
            "target": line.target,
            "head": line.head,
            "start": line.start,
            "between": row.sign,
            "weak": line.weak,
            "sign": line.sign,
            "width": round(line.width, 2),
            "points": [[round(float(x), 1), round(float(y), 1)] for x, y in line.points],
            "strength": row.strength,
            "facts": row.facts,
        }
        for line, row in zip(drawing.lines, content.edges, strict=True)
    ]
    bands = [
        {"name": name, "left": left, "width": width, "top": top, "bottom": bottom}
        for name, top, bottom in drawing.bands
    ]
    call = content.result.call if all(map(str.isprintable, drawing.names)) else ""  # else its options would be others
    found = {"nodes": nodes, "edges": edges, "bands": bands, "filter": content.filter, "call": call}
    return found | {"focus": focus_of(content.result, tuple(drawing.names))}


def setting_rows(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the settings with their meanings, those that differ from the default first."""
    known, rows = public_settings(), []
    flat = {name: value for name, value in settings.items() if name not in ("paper", "parts")}
    for name, value in (flat | settings.get("paper", {})).items():
        changed = name in known and value != known[name]["default"]
        meaning = known[name]["meaning"] if name in known else ""
        rows.append({"name": name, "value": _word(value), "changed": changed, "meaning": meaning})
    return sorted(rows, key=lambda row: not row["changed"])


def _word(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "not set", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def _bars(counts: list[int]) -> Markup:
    """Return a histogram as a small SVG."""
    top = max([*counts, 1])
    bars = "".join(
        f'<rect x="{k * 6}" y="{20 - 18 * count / top:.3g}" width="5" height="{18 * count / top:.3g}"/>'
        for k, count in enumerate(counts)
    )
    return Markup(f'<svg class="bars" viewBox="0 0 {6 * len(counts)} 20" aria-hidden="true">{bars}</svg>')


def _without_controls(value: Any) -> Any:
    """Return text with characters that do not print, such as those that turn the direction of writing, written out."""
    if isinstance(value, dict):
        return {name: _without_controls(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_controls(item) for item in value]
    return plain(value, keep="\n\t") if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _template(name: str) -> jinja2.Template:
    """Return a template; most of the time of a small report is spent on compiling it."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, finalize=_without_controls
    )
    environment.filters["bars"] = _bars
    return environment.from_string(source_of_page(name))


@cache
def source_of_page(name: str) -> str:
    """Return the text of a file that a page is made of."""
    return HERE.joinpath(name).read_text(encoding="utf-8")


def _policy(styles: list[str], programs: list[str]) -> str:
    """Return a content security policy that allows these texts, pictures inside the page, and nothing else."""
    allowed = [" ".join(f"'{text_hash(text)}'" for text in texts) for texts in (styles, programs)]
    return (
        f"default-src 'none'; style-src {allowed[0]}; script-src {allowed[1]}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def text_hash(text: str) -> str:
    """Return what a policy allows a text by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
