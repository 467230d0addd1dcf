"""
Experiments: a greenhouse
=========================

Twelve readings of a simulated greenhouse: 400 rows of ordinary days, and five days on which somebody changed something.
Nobody wrote down what. The truth is known, so every answer can be checked.
"""

from drbo import Design, DrBO
from drbo.data.files.datasets import load

greenhouse = load("greenhouse")
table = greenhouse.frame()
table.groupby("day").size()

# %%
# The column ``day`` says which experiment a row comes from; ``ordinary`` days are the control. The score finds the
# graph together with what each experiment changed.

model = DrBO(design=Design(experiment="day", control="ordinary"), random_state=0).fit(table)
model.result_.plot()

# %%
# What was changed on which day, and how much score is lost if a day shares the mechanism of the others:

model.result_.targets.round(1)

# %%
# Arrows that an experiment shows are supported. The others need another one, and ``next_experiments`` ranks them:

model.result_.edges()["direction"].value_counts()

# %%

print(model.result_.next_experiments().summary().partition("\n\n3.")[0])
