"""Scores of one's own: how well the parents of a column predict it on held-out rows, with a price per parent.

The score of a family is minus n times the log of the mean squared error over two folds, and minus ln n for each parent.
Values are kept in build/own-score, where other searches of the same table find them.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Literal
from zlib import crc32

import numpy as np
import numpy.typing as npt
import sklearn
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from benchmarks.parameters import Device

Floats = npt.NDArray[np.float64]
Family = tuple[int, ...]  # a column and its parents, which rise
Kind = Literal["boosting", "network"]

MEMO = Path("build") / "own-score"
FOLDS = 2
BOOSTING = {"max_iter": 10, "learning_rate": 0.3, "max_leaf_nodes": 8, "early_stopping": False, "random_state": 0}
#: Of the network: hidden units, steps of Adam, their length, and the price of squared weights.
NETWORK = {"hidden": 16, "steps": 100, "rate": 0.05, "decay": 0.1}
#: Networks that are trained together.
TOGETHER = 8_192


class HeldOut:
    """The score of a table."""

    def __init__(self, values: Floats, kind: Kind, name: str, device: Device = "cpu") -> None:
        self.values, self.kind, self.device = (values - values.mean(axis=0)) / values.std(axis=0), kind, device
        made = f"{BOOSTING} {sklearn.__version__}" if kind == "boosting" else f"{NETWORK} {torch.__version__} {device}"
        self.path = MEMO / f"{kind}-{name}-{crc32(made.encode()):08x}.txt"
        self.known: dict[Family, float] = {}
        if self.path.exists():
            lines = [line.split() for line in self.path.read_text().splitlines(keepends=True) if line.endswith("\n")]
            self.known = {tuple(map(int, family)): float(value) for *family, value in lines}

    def __call__(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family."""
        family = node, *sorted(parents)
        if family not in self.known:
            self.compute([family])
        return self.known[family]

    def fill(self, most: int) -> None:
        """Compute all families with at most so many parents, many at a time."""
        d = self.values.shape[1]
        sizes = range(min(most, d - 1) + 1)
        every = [
            (node, *parents)
            for node in range(d)
            for size in sizes
            for parents in combinations([other for other in range(d) if other != node], size)
        ]
        new = [family for family in every if family not in self.known]
        for start in range(0, len(new), TOGETHER):
            self.compute(new[start : start + TOGETHER])

    def compute(self, families: list[Family]) -> None:
        """Compute families and keep them."""
        n = len(self.values)
        errors = self._boosted(families) if self.kind == "boosting" else self._trained(families)
        prices = np.log(n) * np.array([len(family) - 1 for family in families])
        found = dict(zip(families, (-n * np.log(errors) - prices).tolist(), strict=True))
        self.known |= found
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:  # several processes may add lines
            file.write("".join(f"{' '.join(map(str, family))} {value!r}\n" for family, value in found.items()))

    def _folds(self) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        yield from KFold(FOLDS, shuffle=True, random_state=0).split(self.values)

    def _boosted(self, families: Iterable[Family]) -> Floats:
        """Return the errors of gradient boosting."""
        errors = []
        for node, *parents in families:
            target, guess = self.values[:, node], np.zeros(len(self.values))
            with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
                for seen, unseen in self._folds() if parents else ():
                    trees = HistGradientBoostingRegressor(**BOOSTING)
                    trees.fit(self.values[np.ix_(seen, parents)], target[seen])
                    guess[unseen] = trees.predict(self.values[np.ix_(unseen, parents)])
            errors.append(np.mean((target - guess) ** 2))
        return np.array(errors)

    def _trained(self, families: list[Family]) -> Floats:
        """Return the errors of networks with one hidden layer, all trained at once."""
        d, rows = self.values.shape[1], [tuple(map(np.sort, fold)) for fold in self._folds()]
        table = torch.tensor(self.values, dtype=torch.float32, device=self.device)
        least = min(len(seen) for seen, _ in rows)
        seen, unseen = (torch.stack([table[fold[k][:least]] for fold in rows])[:, None] for k in (0, 1))  # (K, 1, n, d)
        nodes = torch.tensor([family[0] for family in families], device=self.device)
        mask = torch.zeros(len(families), d, 1)
        for row, (_, *parents) in enumerate(families):
            mask[row, parents] = 1.0
        mask = mask.to(self.device)
        inner, outer = _weights(d, mask)
        inner, outer = (each.expand(FOLDS, *each.shape).clone().requires_grad_() for each in (inner, outer))
        shifts = [torch.zeros(FOLDS, len(families), 1, size, device=self.device) for size in (NETWORK["hidden"], 1)]
        parameters = [inner, outer, *(each.requires_grad_() for each in shifts)]

        def errors(inputs: torch.Tensor) -> torch.Tensor:
            hidden = torch.tanh(inputs @ (inner * mask) + shifts[0])
            left = inputs[:, 0][:, :, nodes].permute(0, 2, 1) - (hidden @ outer + shifts[1])[..., 0]
            return (left**2).mean(dim=2)  # (K, families)

        adam = torch.optim.Adam(parameters, lr=NETWORK["rate"])
        for _ in range(int(NETWORK["steps"])):
            adam.zero_grad()
            weight = sum((each**2).sum() for each in (inner * mask, outer)) / least
            (errors(seen).sum() + NETWORK["decay"] * weight).backward()
            adam.step()
        with torch.no_grad():
            found: Floats = errors(unseen).mean(dim=0).double().cpu().numpy()
        return np.where([len(family) == 1 for family in families], 1.0, found)


def _weights(d: int, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the first weights of both layers: the same draws for every family, smaller with more parents."""
    random, hidden = torch.Generator().manual_seed(0), int(NETWORK["hidden"])
    inner = torch.randn(d, hidden, generator=random).to(mask.device)
    outer = torch.randn(hidden, 1, generator=random).to(mask.device) / hidden**0.5
    return inner / mask.sum(dim=1, keepdim=True).clamp(min=1.0) ** 0.5, outer.expand(len(mask), -1, -1)
