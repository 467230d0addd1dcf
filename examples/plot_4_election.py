"""
Election: categories
====================

944 voters were asked in 1996 about themselves and about two candidates (American National Election Studies; the table
comes with statsmodels). Answers are grades, such as "slightly liberal", so the graph is one of categories: no straight
lines, no distances between answers.
"""

import pandas as pd
import statsmodels.api as sm

from drbo import DrBO, Knowledge

survey = sm.datasets.anes96.load_pandas().data


def graded(column, edges, labels):
    return pd.cut(survey[column], edges, labels=labels)


sides = [0, 3, 4, 7], ["left", "centre", "right"]
table = pd.DataFrame(
    {
        "age": graded("age", [0, 35, 55, 99], ["to 35", "to 55", "older"]),
        "education": graded("educ", [0, 3, 5, 7], ["school", "college", "degree"]),
        "income": graded("income", [0, 14, 20, 24], ["low", "middle", "high"]),
        "TV news": graded("TVnews", [-1, 1, 5, 7], ["rarely", "often", "daily"]),
        "own side": graded("selfLR", *sides),
        "Clinton's side": graded("ClinLR", *sides),
        "Dole's side": graded("DoleLR", *sides),
        "party": graded("PID", [-1, 2, 3, 6], ["Democrat", "none", "Republican"]),
        "vote": graded("vote", [-1, 0, 1], ["Clinton", "Dole"]),
    }
)
table.head(3)

# %%
# Age comes before education, and both before views; the vote comes last. Everything else is for the data to say.

known = Knowledge(
    tiers=[
        ["age"],
        ["education"],
        ["income", "TV news", "own side", "Clinton's side", "Dole's side", "party"],
        ["vote"],
    ]
)
model = DrBO(knowledge=known, random_state=0).fit(table)
found = model.bootstrap(table, n=100)
model.result_.plot()

# %%
# The score is a log evidence of categories (BDeu), chosen by itself, and the graph is proved to be the best that obeys
# the tiers:

print("score:", model.result_.score_name)
print("proof:", model.result_.proof.valid_for)

# %%
# How sure? ``link_frequency`` is about the link, ``frequency`` about the arrow. Views are linked for sure; which of
# them comes first is not.

edges = model.result_.edges().round(2)
edges[["source", "target", "link_frequency", "frequency", "reason"]]

# %%
# The same, averaged over the resamples: what is linked more often than a cut that the frequencies themselves suggest.

print(f"cut at {found.cut:.2f}")
found.table(found.cut)
