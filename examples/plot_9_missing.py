"""
Missing values: three answers
=============================

A simulated survey of 600 people, in which older people skip the question about income more often. The truth is a chain:
age -> education -> income -> savings.
"""

import numpy as np
import pandas as pd

from drbo import DataPolicy, DrBO

rng = np.random.default_rng(0)
age = rng.normal(size=600)
education = rng.normal(size=600) - 0.6 * age
income = rng.normal(size=600) + 0.8 * education
savings = rng.normal(size=600) + 0.8 * income
complete = pd.DataFrame({"age": age, "education": education, "income": income, "savings": savings})
table = complete.copy()
table.loc[rng.random(600) < 1 / (1 + np.exp(1 - age)), "income"] = np.nan
print(f"{table['income'].isna().mean():.0%} of the incomes are missing")

# %%
# ``fit(table)`` refuses such a table, because the right treatment depends on why values are missing. Here that depends
# on the age alone, which was observed: they are missing at random (MAR). EM and imputation are valid then.


def links(data, missing="error"):
    policy = DataPolicy(missing=missing, imputations=5)
    model = DrBO(score="bic-nv", policy=policy, random_state=0).fit(data)
    return model, pd.Series([f"{cause} - {effect}" for cause, effect in model.graph_.edges])


found = {missing: links(table, missing) for missing in ("drop", "em", "impute")}
pd.DataFrame({"no cell missing": links(complete)[1], **{name: edges for name, (_, edges) in found.items()}})

# %%
# With imputation, the frequencies say how much an edge depends on the cells that were not seen:

imputed = found["impute"][0].result_
imputed.plot()
imputed.confidence.table().round(2)
