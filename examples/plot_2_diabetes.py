"""
Diabetes: what is known goes in first
=====================================

442 patients: age, sex, body mass index, blood pressure, six blood tests, and how far the disease had progressed a year
later (Efron et al. 2004; it comes with scikit-learn). Nobody's age is caused by their cholesterol, and nothing in the
table can be caused by what was measured a year later. Such facts are stated before the search, and every graph that is
ever scored obeys them.
"""

from sklearn.datasets import load_diabetes

from drbo import DrBO, Knowledge

names = {
    "bp": "blood pressure",
    "s1": "cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol/HDL",
    "s5": "log triglycerides",
    "s6": "glucose",
    "target": "progression",
}
table = load_diabetes(as_frame=True, scaled=False).frame.rename(columns=names)
table["sex"] = table["sex"].map({1: "one", 2: "two"})  # the source says no more
table.head(3)

# %%
# cholesterol/HDL is the ratio of two other columns. A column that is computed from others has no causes to be found,
# so it goes.

table = table.drop(columns="cholesterol/HDL")
later, earlier = ["progression"], ["age", "sex"]
between = [name for name in table if name not in earlier + later]
known = Knowledge(tiers=[earlier, between, later], roots=earlier)

model = DrBO(knowledge=known, random_state=0).fit(table)
found = model.bootstrap(table, n=50)
model.result_.plot()

# %%
# Numbers and a category in one table: ``score="auto"`` chose a score for both, and the result says why.

print(*model.result_.reasons, sep="\n")

# %%
# Which arrows do the data support, and which does our knowledge? The column ``reason`` tells them apart.

edges = model.result_.edges().round(2)
edges[["source", "target", "frequency", "link_frequency", "reason"]]

# %%
# What points at the progression of the disease, over all resamples, whether drawn or not:

pairs = found.table()
pairs[pairs["target"] == "progression"]

# %%
# A frequency is not the probability that an arrow is a cause: a hidden common cause, such as a drug that some patients
# take, is found in every resample.
