"""
Wine: a proof, and what comes close
===================================

Thirteen chemical properties of 178 Italian wines of three cultivars (Forina et al.; it comes with scikit-learn). With
thirteen columns there are more than 10\\ :sup:`31` graphs, and still the best of them can be proved to be the best.
What the proof does not say is how far behind the others are: with 178 rows, not far.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from drbo import Design, DrBO

wine = load_wine(as_frame=True)
table = wine.data.rename(columns={"od280/od315_of_diluted_wines": "od280/od315"})

# %%
# The cultivar is a common cause of everything that is measured. With groups, only changes within a cultivar count.

model = DrBO(score="bge", design=Design(groups=wine.target), random_state=0).fit(table)
result = model.result_
print("gap to the best of", result.proof.valid_for, "is", result.gap)

# %%
# A gap of zero: no graph scores higher. Drawn is what is left of it after a test of every edge; arrows are directions
# that the whole equivalence class shares.

result.plot()

# %%
# The next classes, and how much less they score. A difference of one in a log evidence is a factor of e.

for other in result.top[1:6]:
    print(f"{other.behind:6.2f} behind")

# %%
# So one graph is not the answer; the probability of each edge over all graphs is. It is exact here: the sum over all of
# them, not a sample.

figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
image = axes.imshow(result.posterior, cmap="Blues", vmin=0, vmax=1)
places = range(len(result.names))
axes.set_xticks(places, result.names, rotation=60, ha="right")
axes.set_yticks(places, result.names)
axes.set(xlabel="effect", ylabel="cause")
figure.colorbar(image, label="probability of the edge", shrink=0.7)

# %%
# Two cells that mirror each other and add up to one are a link that is certain and a direction that is open.
