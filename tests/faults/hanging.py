"""Scores that hang after some calls: asleep, busy, or inside of compiled code."""

import ctypes
import time
from typing import Any

import numpy as np

from drbo import Families, Score

#: Calls that return, and the seconds of one that does not.
CALLS, SECONDS = 60, 300.0


class Sleeping(Score):
    """A linear BIC that falls asleep."""

    name = "sleeping"
    calls = 0

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        self.values = data.values - data.values.mean(axis=0)

    def local(self, families: Families) -> Any:
        each = zip(families.nodes, families.parents, strict=True)
        return np.array([self._one(node, parents) for node, parents in each])

    def _one(self, node: int, parents: Any) -> float:
        type(self).calls += 1
        if type(self).calls > CALLS:
            self.hang()
        own, others = self.values[:, node], self.values[:, np.flatnonzero(parents)]
        left = own - others @ np.linalg.lstsq(others, own)[0] if others.shape[1] else own
        return float(-len(own) / 2 * np.log(left.var()) - np.log(len(own)) / 2 * others.shape[1])

    def hang(self) -> None:
        time.sleep(SECONDS)


class Busy(Sleeping):
    """One that computes for ever, and catches what would end it."""

    name, calls = "busy", 0

    def hang(self) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                sum(range(1000))
            except BaseException:
                continue


class Compiled(Sleeping):
    """One that waits in a compiled function, where Python calls no handler of a signal."""

    name, calls = "compiled", 0

    def hang(self) -> None:
        library = ctypes.CDLL(None)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            library.sleep(int(SECONDS))
