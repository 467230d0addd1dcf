"""
Hidden causes: a marker that is no cause
========================================

Simulated, so that the truth is known. A hidden illness raises both a marker and the pain of 2,000 patients. Exercise
lowers the marker, and work adds to the pain; the marker does nothing to the pain.
"""

import numpy as np
import pandas as pd

from drbo import DrBO

rng = np.random.default_rng(0)
illness, exercise, work = rng.normal(size=(3, 2000))
table = pd.DataFrame(
    {
        "exercise": exercise,
        "marker": illness - exercise + rng.normal(size=2000),
        "pain": illness + work + rng.normal(size=2000),
        "work": work,
    }
)
table.head(3).round(2)

# %%
# A plain fit assumes that the illness is a column. It is not, so the graph needs an edge between marker and pain, and
# more edges that are not there:

plain = DrBO(random_state=0).fit(table)
plain.result_.plot()

# %%
# Allowing hidden causes gives the truth: a bidirected edge says that neither of the two causes the other.

result = DrBO(hidden=True, random_state=0).fit(table).result_
result.edges()[["source", "target", "mark_source", "mark_target", "direction"]]

# %%
# So nobody should lower the marker to treat the pain. The effect is 0, because no path of arrows leads from one to the
# other:

print(result.effects(table, "marker", "pain").summary())
