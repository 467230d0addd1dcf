"""
Proteins: a known network
=========================

Sachs et al. (2005) measured eleven signalling proteins in single human T cells. Biology knows seventeen links between
them, so this table can be used to see what a graph learned from numbers alone is worth.
"""

import numpy as np
import pandas as pd

from drbo import DrBO
from drbo.data.files.datasets import load

sachs = load("sachs")
table = pd.DataFrame(sachs.X, columns=sachs.names)
table.describe().T[["mean", "min", "50%", "max"]].round(1)

# %%
# The largest values are far above the median: concentrations live on a log scale. A score of straight lines asks for
# columns that straight lines can describe, so we take logarithms.
#
# ``bootstrap`` fits a hundred resamples of the rows, and counts how often every link comes back.

model = DrBO(score="bic-nv", random_state=0).fit(np.log(table))
found = model.bootstrap(np.log(table), n=100)
model.result_.plot()

# %%
# No line has an arrowhead. That is not a failure: with this score the members of an equivalence class tie, and the data
# settle none of these directions. A program that drew arrows here would have made them up. ``edges()`` says so for
# every edge:

edges = model.result_.edges().round(2)
edges[["source", "target", "standardised_weight", "link_frequency", "reason"]]

# %%
# Against the known network. Green lines without arrowheads are right, with their direction left open; dashed arrows are
# links of the literature that these cells do not show.

model.result_.plot_compare(sachs.dag)

# %%
# Is anything just below the line? Links that some of the resamples find, with their shares:

found.table(0.1)

# %%
# Two things to take home. A graph from observations is a list of questions for the next experiment; and this table
# breaks the assumptions (feedback exists in cells, and not all proteins were measured), so no method gets all of it.
