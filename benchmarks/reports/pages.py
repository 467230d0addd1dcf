"""Everything that ``python -m benchmarks report`` writes: which page, which rows, which table."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.reports import (
    columns,
    earlier,
    features,
    figures,
    hidden,
    interventions,
    own_score,
    presets,
    real_tables,
    results,
    row_growth,
    scores,
    searches,
    speed,
    trust,
)
from benchmarks.rows import Row, read
from drbo.result.words import track_record

ROOT = Path(__file__).parents[2]
Table = Callable[[list[Row]], str]
#: Tables between the marks of a page: page, mark, rows, table.
MARKED: tuple[tuple[str, str, str, Table], ...] = (
    ("README.md", "real tables", "real_known", real_tables.line),
    ("docs/guide/directions.md", "track record", "real_known", real_tables.record),
    ("docs/guide/scores.md", "null test", "null", scores.null_test),
    ("docs/guide/scores.md", "noise of other shapes", "nongaussian", scores.nongaussian),
    ("docs/guide/scores.md", "real tables", "real_tables", scores.real_tables),
    ("docs/guide/scores.md", "scales", "real_scales", scores.scales),
    ("docs/guide/scores.md", "location scale", "location_scale", scores.location_scale),
    ("docs/guide/scores.md", "halves", "real_halves", scores.halves),
    ("docs/guide/scores.md", "gaussian networks", "gaussian_networks", scores.gaussian_networks),
    ("docs/evidence/orders.md", "repeats", "gaussian_repeats", scores.repeats),
    ("docs/guide/hidden.md", "rivals", "hidden", hidden.rivals),
    ("docs/guide/hidden.md", "supported", "hidden", hidden.supported),
    ("docs/guide/hidden.md", "plain", "hidden", hidden.plain),
    ("docs/guide/hidden.md", "clean", "hidden", hidden.clean),
    ("docs/guide/hidden.md", "hidden", "hidden", hidden.hidden),
    ("docs/guide/experiments.md", "tunnel", "interventions_tunnel", interventions.tunnel),
    ("docs/guide/experiments.md", "grid", "interventions_grid", interventions.grid),
    ("docs/guide/experiments.md", "simulated", "interventions_simulated", interventions.simulated),
    ("docs/guide/experiments.md", "sachs", "interventions_sachs", interventions.sachs),
    ("docs/guide/experiments.md", "next classes", "next_classes", interventions.next_classes),
    ("docs/guide/experiments.md", "next replay", "next_replay", interventions.next_replay),
    ("docs/guide/experiments.md", "next oracle", "next_oracle", interventions.next_oracle),
    ("docs/evidence/efficiency.md", "efficiency", "efficiency", searches.efficiency),
    ("docs/evidence/efficiency.md", "expensive parts", "expensive", searches.parts),
    ("docs/evidence/efficiency.md", "expensive", "expensive", searches.expensive),
    ("docs/evidence/efficiency.md", "gp evidence", "gp_evidence", scores.gp_evidence),
    ("docs/guide/own-score.md", "own score", "own_score", own_score.table),
    ("docs/guide/exact.md", "certify", "exact", searches.certify),
    ("docs/guide/exact.md", "large", "exact", searches.large),
    ("docs/guide/exact.md", "agree", "exact", searches.agree),
    ("docs/evidence/orders.md", "orders", "orders", searches.orders),
    ("docs/guide/judge.md", "judge", "judge", trust.judge),
    ("docs/guide/knowledge.md", "knowledge", "knowledge", trust.knowledge),
    ("docs/guide/missing.md", "missing", "missing", trust.missing),
    ("docs/guide/groups.md", "panels", "dependent_panels", trust.panels),
    ("docs/guide/groups.md", "series", "dependent_series", trust.series),
    ("docs/guide/confidence.md", "bootstrap", "bootstrap", trust.bootstrap),
    ("docs/evidence/speed.md", "core", "core_speed", speed.core),
    ("docs/evidence/speed.md", "call", "speed_call", speed.call),
    ("docs/evidence/speed.md", "iteration", "speed_iteration", speed.iteration),
    ("docs/evidence/speed.md", "together", "speed_together", speed.together),
    ("docs/evidence/speed.md", "nodes", "speed_growth", speed.nodes),
    ("docs/evidence/speed.md", "evaluations", "speed_growth", speed.evaluations),
    ("docs/evidence/speed.md", "curves", "speed_curves", speed.curves),
    ("docs/evidence/speed.md", "startup", "startup", speed.startup),
    ("docs/evidence/speed.md", "estimates", "estimates", speed.estimates),
    ("docs/evidence/speed.md", "row growth", "big_passes", row_growth.table),
    ("docs/guide/big-tables.md", "passes", "big_passes", speed.passes),
    ("docs/evidence/speed.md", "columns", "columns", columns.beside),
    ("docs/evidence/speed.md", "columns growth", "columns_growth", columns.growth),
    ("docs/evidence/speed.md", "proof", "columns_proof", columns.proof),
    ("docs/guide/big-tables.md", "strength", "big_strength", speed.strength),
    ("docs/guide/big-tables.md", "answers", "big_answers", speed.answers),
    ("docs/guide/scaling-out.md", "workers", "workers", speed.workers),
    ("docs/guide/report.md", "pages", "pages", speed.pages),
    ("docs/guide/report.md", "axe", "axe", speed.axe),
)
#: Pictures beside those of docs/results: name, rows, drawing.
DRAWN: tuple[tuple[str, str, Callable[[list[Row]], bytes]], ...] = (
    ("learning-curves.svg", "speed_curves", figures.learning_curves),
    ("row-growth.svg", "big_passes", row_growth.picture),
    ("column-growth.svg", "columns_growth", columns.picture),
    ("own-score.svg", "own_score", own_score.picture),
    *hidden.DRAWN,
)


def tables_of(rows: str) -> list[Table]:
    """Return the tables that are made of a file of rows."""
    found = [table for _, _, name, table in MARKED if name == rows]
    found += [table for _, name, _, table in scores.SECTIONS if name == rows]
    found += [table for _, _, name, table in real_tables.SECTIONS if name == rows]
    return found + ([scores.choice] if rows == "null_choice" else [])


def pages() -> dict[Path, bytes]:
    """Return every file that the report writes."""
    files = {ROOT / "docs" / "results" / name: content for name, content in results.files().items()}
    texts = {ROOT / page: (ROOT / page).read_text() for page in ("README.md", *(marked[0] for marked in MARKED))}
    texts[ROOT / "README.md"] = filled(
        texts[ROOT / "README.md"], "results", presets.lines(earlier.preset_rows("linear"))
    )
    scored = ROOT / "docs" / "guide" / "scores.md"
    texts[scored] = filled(texts[scored], "features", features.features())
    for page, mark, rows, table in MARKED:
        texts[ROOT / page] = filled(texts[ROOT / page], mark, table(read(rows)))
    images = {ROOT / "docs" / "images" / name: draw(read(rows)) for name, rows, draw in DRAWN}
    records = {track_record.FILE: real_tables.track_record()}
    every = {**files, **texts, **images, **records}
    return {path: content.encode() if isinstance(content, str) else content for path, content in every.items()}


def filled(page: str, mark: str, text: str) -> str:
    """Return a page with another text between its marks ``mark: start`` and ``mark: end``."""
    start, end = f"<!-- {mark}: start -->\n", f"<!-- {mark}: end -->"
    before, rest = page.split(start)
    return before + start + text + end + rest.split(end)[1]


def write() -> None:
    """Write the pages."""
    for path, content in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        print(f"wrote {path.relative_to(ROOT)}")
