"""The columns of the edge table of a report: titles, meanings, and how figures are written."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from drbo.result.files.export import printable


@dataclass(frozen=True)
class EdgeColumn:
    """A column of the edge table: its title, what it means, how its figures are written, and if it gets a bar."""

    title: str
    meaning: str
    form: str = ".4g"
    bar: bool = False

    def write(self, value: Any) -> str:
        """Return a value as a text; an empty one where there is none."""
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return ""
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        if isinstance(value, float | int | np.number):
            if np.isinf(value):
                return "unbounded" if value > 0 else "−unbounded"
            large = abs(float(value)) >= 1000 and self.form.endswith("g")  # 1,012 rather than 1.01e+03
            return format(value, ",.0f" if large else self.form).replace("-", "−")
        return printable(str(value))


#: Columns of Result.edges() that the report knows; others are shown under their own name.
COLUMNS = {
    "direction": EdgeColumn(
        "direction", "supported: by the data or by you; assumed: preferred by the score, unconfirmed; open: unknown"
    ),
    "ground": EdgeColumn(
        "ground", "what supports the direction: given by you, noise check, or class (see the details)"
    ),
    "stable": EdgeColumn(
        "stable", "share of halves of the rows that support the arrow; blank if nothing else does", ".2f"
    ),
    "weight": EdgeColumn(
        "weight", "change in the effect per unit of the cause, with its other causes held fixed", "+.3g"
    ),
    "standardised_weight": EdgeColumn(
        "standardised", "the weight in standard deviations, comparable between edges", "+.2f", bar=True
    ),
    "link_frequency": EdgeColumn(
        "linked", "share of resamples that contain the edge in either direction", ".2f", bar=True
    ),
    "frequency": EdgeColumn("as drawn", "share of resamples that contain the edge exactly as drawn", ".2f"),
    "source_tail": EdgeColumn("tail at one end", "share of resamples with a tail there", ".2f"),
    "source_arrow": EdgeColumn("arrow at one end", "share of resamples with an arrow there", ".2f"),
    "source_circle": EdgeColumn("circle at one end", "share of resamples with a circle there", ".2f"),
    "target_tail": EdgeColumn("tail at other end", "share of resamples with a tail there", ".2f"),
    "target_arrow": EdgeColumn("arrow at other end", "share of resamples with an arrow there", ".2f"),
    "target_circle": EdgeColumn("circle at other end", "share of resamples with a circle there", ".2f"),
    "p_link": EdgeColumn("p link", "probability that the two are linked at all, in either direction", ".2f", bar=True),
    "p_forward": EdgeColumn("p forward", "probability of the arrow as drawn; blank if it cannot be estimated", ".2f"),
    "p_backward": EdgeColumn("p backward", "probability of an arrow the other way round", ".2f"),
    "margin_removed": EdgeColumn(
        "if removed", "score lost if the edge is removed and the rest of the graph is re-optimised", ".3g"
    ),
    "margin_reversed": EdgeColumn(
        "if reversed", "score lost if the edge is reversed and the rest of the graph is re-optimised", ".3g"
    ),
    "reason": EdgeColumn(
        "why this direction", "what determines the direction of the edge; 'tie': nothing determines it"
    ),
}
#: What the filter works on: the first of these that the edges have.
FILTERS = (
    ("p_link", "Minimum probability of a link"),
    ("link_frequency", "Minimum edge frequency"),
    ("standardised_weight", "Minimum standardised weight"),
)
