"""A result with hidden causes in plain words for a terminal."""

from collections import Counter
from typing import TYPE_CHECKING

from drbo.result.files.export import printable
from drbo.result.words.summary import CUT_SHORT, SHOWN_EDGES, fidelity_lines, rows_in_words

if TYPE_CHECKING:
    from drbo.result.hidden import HiddenResult

#: The signs of edges, and what each says.
SIGNS = (
    ("-->", "the left column is a cause of the right one; (visible): nothing hidden causes both"),
    ("<->", "neither causes the other; something not in the table is involved"),
    ("o->", "the right column is not a cause of the left one; the left one, or something hidden, causes the right one"),
    ("o-o", "the data do not tell"),
)
#: What the answer rests on.
ASSUMED = (
    "linear relations and Gaussian noise; no rows selected by something hidden; every separation in the data is one "
    "of the graph"
)
KNOWLEDGE = (
    "with knowledge, every mark that is shown follows, but there may be more that follow: the orientation rules are "
    "not complete then"
)


def summary(result: "HiddenResult") -> str:
    """Return the graph, what its marks mean and how it was found, in plain words."""
    kinds = Counter(one.direction for one in result.directions)
    lines = [
        f"{len(result.names)} variables, {rows_in_words(result)}, score {printable(result.score_name)}, hidden causes "
        "allowed",
        "",
        f"PAG: {len(result.directions)} edges; marks: {kinds['supported']} supported, {kinds['assumed']} assumed, "
        f"{kinds['open']} open",
        *_edge_lines(result),
        "",
        f"score        {result.score:.6f} of the best DAG, {result.hidden.gain:.6f} more with hidden causes",
        f"search       {result.n_evals} evaluations, {result.n_local} local scores, {result.seconds:.1f} s",
        *fidelity_lines(result.search),
        *_proof_lines(result),
        *_frequency_lines(result),
        f"assumptions  {ASSUMED}",
        *([f"{'':<12} {KNOWLEDGE}"] if result.knowledge.to_mapping() else []),
        f"stopped      {printable(result.stopped) or 'not recorded'}",
        *([f"{'':<12} {CUT_SHORT}"] if result.cut_short or not result.hidden.whole else []),
    ]
    shown = {sign_of(row["mark_source"], row["mark_target"]) for row in result.edges().to_dict("records")}
    lines += [f"{sign:<12} {words}" for sign, words in SIGNS if sign in shown]
    lines += [f"{'' if k else 'why':<12} {printable(reason)}" for k, reason in enumerate(result.reasons)]
    return "\n".join(lines)


def sign_of(source: str, target: str) -> str:
    """Return the sign between two names for the marks at both ends.

    Examples
    --------
    >>> sign_of("circle", "arrow"), sign_of("arrow", "arrow"), sign_of("tail", "arrow")
    ('o->', '<->', '-->')
    """
    left, right = {"circle": "o", "arrow": "<", "tail": "-"}, {"circle": "o", "arrow": ">", "tail": "-"}
    return f"{left[source]}-{right[target]}"


def _edge_lines(result: "HiddenResult") -> list[str]:
    """Return one line per edge; a long list is cut."""
    rows = result.edges().to_dict("records")
    heads = [
        f"{printable(row['source'])} {sign_of(row['mark_source'], row['mark_target'])} {printable(row['target'])}"
        for row in rows[:SHOWN_EDGES]
    ]
    width = max(map(len, heads), default=0)
    lines = []
    for head, row in zip(heads, rows, strict=False):
        words = {"tests": "supported: tests agree", "given": "supported: given"}.get(row["ground"], row["direction"])
        seen = ""
        if "link_frequency" in row:
            ends = [row[f"{end}_{row[f'mark_{end}']}"] for end in ("source", "target")]
            seen = f"  {row['link_frequency']:.0%} ({ends[0]:.0%}, {ends[1]:.0%})"
        lines.append(f"  {head:<{width}}  {words}{' (visible)' if row['visible'] else ''}{seen}")
    if len(rows) > SHOWN_EDGES:
        lines.append(f"  ... and {len(rows) - SHOWN_EDGES} more: see edges()")
    return lines


def _proof_lines(result: "HiddenResult") -> list[str]:
    """Return how far behind all other graphs are, where these were compared."""
    lead = result.hidden.lead
    if lead is None:
        return []
    if lead >= 0:
        return [f"proof        all graphs were compared: every other class scores at least {lead:.6g} lower"]
    return [
        f"proof        all graphs were compared: another class scores {-lead:.6g} higher, less than half the price of "
        "an edge"
    ]


def _frequency_lines(result: "HiddenResult") -> list[str]:
    """Return what the frequencies of edges and marks come from, and how to read them."""
    if (found := result.confidence) is None:
        return []
    what = {"imputation": "imputed tables", "seeds": "seeds"}.get(found.kind, "resamples")
    return [
        f"frequencies  of {found.count} {what}: the share with the edge (with its left mark, with its right mark); all "
        "marks: see edges()"
    ]
