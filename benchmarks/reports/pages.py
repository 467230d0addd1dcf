"""Everything that ``python -m benchmarks report`` writes: which page, which rows, which table."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.reports import (
    columns,
    features,
    figures,
    hidden,
    interventions,
    limits,
    own_score,
    real_tables,
    results,
    row_growth,
    scores,
    searches,
    series,
    speed,
    trust,
    versions,
)
from benchmarks.rows import Row, read
from drbo.result.words import track_record

ROOT = Path(__file__).parents[2]
Table = Callable[[list[Row]], str]
#: Tables between the marks of a page: page, mark, rows, table.
MARKED: tuple[tuple[str, str, str, Table], ...] = (
    ("README.md", "real tables", "real_known", real_tables.line),
    ("paper/paper.md", "real tables", "real_known", real_tables.sentence),
    ("docs/evidence/trust.md", "track record", "real_known", real_tables.record),
    ("docs/reference/directions.md", "real tables", "real_known", real_tables.opening),
    ("docs/evidence/scores.md", "null test", "null", scores.null_test),
    ("docs/evidence/scores.md", "noise of other shapes", "nongaussian", scores.nongaussian),
    ("docs/evidence/scores.md", "real tables", "real_tables", scores.real_tables),
    ("docs/evidence/scores.md", "scales", "real_scales", scores.scales),
    ("docs/evidence/scores.md", "location scale", "location_scale", scores.location_scale),
    ("docs/evidence/scores.md", "halves", "real_halves", scores.halves),
    ("docs/evidence/scores.md", "gaussian networks", "gaussian_networks", scores.gaussian_networks),
    ("docs/evidence/orders.md", "repeats", "gaussian_repeats", scores.repeats),
    ("docs/evidence/hidden.md", "rivals", "hidden", hidden.rivals),
    ("docs/evidence/hidden.md", "supported", "hidden", hidden.supported),
    ("docs/evidence/hidden.md", "plain", "hidden", hidden.plain),
    ("docs/evidence/hidden.md", "clean", "hidden", hidden.clean),
    ("docs/evidence/hidden.md", "hidden", "hidden", hidden.hidden),
    ("docs/evidence/experiments.md", "tunnel", "interventions_tunnel", interventions.tunnel),
    ("docs/evidence/experiments.md", "grid", "interventions_grid", interventions.grid),
    ("docs/evidence/experiments.md", "simulated", "interventions_simulated", interventions.simulated),
    ("docs/evidence/experiments.md", "sachs", "interventions_sachs", interventions.sachs),
    ("docs/evidence/experiments.md", "next classes", "next_classes", interventions.next_classes),
    ("docs/evidence/experiments.md", "next replay", "next_replay", interventions.next_replay),
    ("docs/evidence/experiments.md", "next oracle", "next_oracle", interventions.next_oracle),
    ("docs/evidence/efficiency.md", "efficiency", "efficiency", searches.efficiency),
    ("docs/evidence/efficiency.md", "expensive parts", "expensive", searches.parts),
    ("docs/evidence/efficiency.md", "expensive", "expensive", searches.expensive),
    ("docs/evidence/efficiency.md", "gp evidence", "gp_evidence", scores.gp_evidence),
    ("docs/evidence/own-score.md", "own score", "own_score", own_score.table),
    ("docs/evidence/proofs.md", "certify", "exact", searches.certify),
    ("docs/evidence/proofs.md", "large", "exact", searches.large),
    ("docs/evidence/proofs.md", "agree", "exact", searches.agree),
    ("docs/evidence/orders.md", "below", "below_best", searches.below),
    ("docs/evidence/orders.md", "orders", "orders", searches.orders),
    ("docs/evidence/trust.md", "judge", "judge", trust.judge),
    ("docs/evidence/trust.md", "knowledge", "knowledge", trust.knowledge),
    ("docs/evidence/rows.md", "missing", "missing", trust.missing),
    ("docs/evidence/rows.md", "panels", "dependent_panels", trust.panels),
    ("docs/evidence/rows.md", "series", "dependent_series", trust.series),
    ("docs/evidence/time.md", "found", "series", series.found),
    ("docs/evidence/time.md", "nulls", "series", series.nulls),
    ("docs/evidence/time.md", "supported", "series", series.supported),
    ("docs/evidence/trust.md", "bootstrap", "bootstrap", trust.bootstrap),
    ("docs/developers/core-speed.md", "core", "core_speed", speed.core),
    ("docs/developers/core-speed.md", "core since", "core_speed", speed.core_since),
    ("docs/developers/core-speed.md", "call", "speed_call", speed.call),
    ("docs/developers/core-speed.md", "iteration", "speed_iteration", speed.iteration),
    ("docs/developers/core-speed.md", "nodes", "speed_growth", speed.nodes),
    ("docs/developers/core-speed.md", "evaluations", "speed_growth", speed.evaluations),
    ("docs/developers/core-speed.md", "curves", "speed_curves", speed.curves),
    ("docs/evidence/speed.md", "startup", "startup", speed.startup),
    ("docs/evidence/speed.md", "estimates", "estimates", speed.estimates),
    ("docs/evidence/speed.md", "row growth", "big_passes", row_growth.table),
    ("docs/guide/limits.md", "limits", "columns_growth", limits.table),
    ("docs/evidence/big-tables.md", "passes", "big_passes", speed.passes),
    ("docs/evidence/speed.md", "whole fits", "whole_fit", columns.whole),
    ("docs/evidence/speed.md", "columns", "columns", columns.beside),
    ("docs/evidence/speed.md", "columns growth", "columns_growth", columns.growth),
    ("docs/evidence/speed.md", "neighbourhood", "columns_neighbourhood", columns.neighbourhood),
    ("docs/evidence/speed.md", "proof", "columns_proof", columns.proof),
    ("docs/evidence/big-tables.md", "strength", "big_strength", speed.strength),
    ("docs/evidence/big-tables.md", "answers", "big_answers", speed.answers),
    ("docs/evidence/speed.md", "workers", "workers", speed.workers),
    ("docs/evidence/speed.md", "pages", "pages", speed.pages),
    ("docs/evidence/speed.md", "axe", "axe", speed.axe),
)
#: Pages that quote rows in sentences, where a table for each version has no place.
SENTENCES = ("README.md", "paper/paper.md")
#: Pictures beside those of docs/results: name, rows, drawing.
DRAWN: tuple[tuple[str, str, Callable[[list[Row]], bytes]], ...] = (
    ("learning-curves.svg", "speed_curves", figures.learning_curves),
    ("row-growth.svg", "big_passes", row_growth.picture),
    ("column-growth.svg", "columns_growth", columns.picture),
    ("own-score.svg", "own_score", own_score.picture),
    ("front.svg", "own_score", own_score.front),
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
    named = ("README.md", "docs/reference/scores.md", *(marked[0] for marked in MARKED))
    texts = {ROOT / page: (ROOT / page).read_text() for page in named}
    scored = ROOT / "docs" / "reference" / "scores.md"
    texts[scored] = filled(texts[scored], "features", features.features())
    for page, mark, rows, table in MARKED:
        texts[ROOT / page] = filled(texts[ROOT / page], mark, shown(page, read(rows), table))
    images = {ROOT / "docs" / "images" / name: draw(read(rows)) for name, rows, draw in DRAWN}
    records = {track_record.FILE: real_tables.track_record()}
    every = {**files, **texts, **images, **records}
    return {path: content.encode() if isinstance(content, str) else content for path, content in every.items()}


def shown(page: str, rows: list[Row], table: Table) -> str:
    """Return what stands between the marks of a page: a table per version; sentences are of one."""
    if page not in SENTENCES:
        return versions.tables(rows, table)
    versions.one(rows, page)
    return table(rows)


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
