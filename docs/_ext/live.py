"""A report to try out: the Sachs data with a bootstrap, as one HTML file of the site."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sphinx.application import Sphinx
from sphinx.config import Config

from drbo import DrBO
from drbo.data.files.datasets import load

FOLDER = "_live"


def write_report(app: Sphinx, config: Config) -> None:
    """Write the report where Sphinx takes extra files from, unless it is there."""
    path = Path(app.srcdir) / FOLDER / "sachs-report.html"
    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    sachs = load("sachs")
    table = pd.DataFrame(np.log(sachs.X), columns=sachs.names)
    model = DrBO(score="bic-nv", random_state=0).fit(table)
    model.bootstrap(table, n=100)
    model.result_.report(path)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the writer: before the HTML builder looks for the folder."""
    app.connect("config-inited", write_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
