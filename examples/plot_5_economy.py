"""
Economy: the past beside the present
====================================

Two hundred quarters of the economy of the United States, 1959 to 2009 (the table comes with statsmodels). Rows that
follow each other in time are not independent, and every score takes them for independent. So the past is put beside the
present, and the present never causes the past.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm

from drbo import DrBO, Knowledge
from drbo.data.checks.lag import lagged

quarters = sm.datasets.macrodata.load_pandas().data
growing = {"income": "realdpi", "consumption": "realcons", "investment": "realinv"}
rates = {"unemployment": "unemp", "inflation": "infl", "interest": "tbilrate"}
table = pd.DataFrame(
    {name: 100 * np.log(quarters[column]).diff() for name, column in growing.items()}
    | {name: quarters[column].diff() for name, column in rates.items()}
).dropna()

# %%
# What grows is taken as growth in percent, what goes up and down as its change: a trend in two columns looks like a
# link between them. Then each row gets the quarter before it:

past, tiers, notes = lagged(table, lags=1)
past.head(3).round(2)

# %%
# The columns of the quarter before are an earlier tier. Resamples are blocks of neighbouring quarters, so that what is
# left of the dependence in time stays inside them.

known = Knowledge(tiers=tiers)
model = DrBO(score="bic-nv", knowledge=known, random_state=0).fit(past)
found = model.bootstrap(past, n=50, kind="block", block=8)
model.result_.plot()

# %%
# Edges among the columns of the past stand for a past that is not in the table. The ones to look at lead into the
# present:

edges = model.result_.edges().round(2)
edges = edges[~edges["target"].str.contains("lag")]
edges[["source", "target", "standardised_weight", "frequency", "reason"]]

# %%
# A quarter is long: what happens within it appears as an edge between columns of the same quarter, and a common cause
# within it, such as a decision of the central bank, as an edge that is none.
