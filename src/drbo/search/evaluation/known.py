"""The known families of a score and their local values, in the order in which they became known."""

from concurrent.futures import Executor

import numpy as np

from drbo.arrays import Floats
from drbo.constraints import Constraints
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.evaluation.local_scores import local_scores
from drbo.search.evaluation.remote import Workers
from drbo.search.state import LARGEST, Fields, State

#: The largest size of a local score that is a logarithm, as those of a score with levels are: its power is finite.
LARGEST_LOG = 700.0


class KnownFamilies:
    """Local scores by family, each computed once, here or by an executor.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> from drbo.scores.linear import BicNV
    >>> known = KnownFamilies(BicNV(Statistics.from_array(np.random.default_rng(0).normal(size=(50, 3)))))
    >>> known.compute(set(Families.from_sets(3, [(0, ()), (1, (0,))]).keys()))
    >>> len(known)
    2
    """

    def __init__(self, score: Score, executor: Executor | None = None, timeout: float | None = None) -> None:
        self.score = score
        self.workers = None if executor is None else Workers(score, executor, timeout)
        self._values: dict[bytes, float] = {}
        self._order: list[bytes] = []

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: bytes) -> bool:
        return key in self._values

    def of(self, keys: list[bytes]) -> Floats:
        """Return the values of known families."""
        return np.array([self._values[key] for key in keys], dtype=np.float64)

    def since(self, count: int) -> tuple[Families, Floats]:
        """Return the families beyond the first so many, in the order in which they became known, with their values."""
        keys = self._order[count:]
        return Families.from_keys(keys, self.score.n_nodes), self.of(keys)

    def compute(self, new: set[bytes]) -> None:
        """Score unknown families, in the order of their keys so that nothing depends on who asked first."""
        if not new:
            return
        keys, values = self._sorted(new), list[float]()
        families = Families.from_keys(keys, self.score.n_nodes)
        try:
            if self.workers is None:
                local_scores(self.score, families, values)
            else:
                values += self.workers.local(families).tolist()
        finally:  # also what was computed before the time was over
            self._values.update(zip(keys, values, strict=False))
            self._order += sorted(keys[: len(values)])

    def begin(self, new: set[bytes]) -> None:
        """Let workers begin with unknown families that :meth:`compute` will be asked for."""
        if new and self.workers is not None:
            self.workers.begin(Families.from_keys(self._sorted(new), self.score.n_nodes))

    def _sorted(self, new: set[bytes]) -> list[bytes]:
        keys = sorted(new)
        if self.score.cell or self.workers:
            keys.sort(key=lambda key: key[4:])  # families with the same parents stand together: scores share work there
        return keys

    def capture(self) -> State:
        """Return the state: the families, and their values."""
        keys = np.frombuffer(b"".join(self._order), dtype=np.uint8).reshape(len(self._order), self._key_bytes)
        return {"keys": keys, "values": self.of(self._order)}

    def restore(self, fields: Fields, limits: Constraints) -> None:
        """Set the state; every family must obey the knowledge."""
        packed = fields.array("keys", np.uint8, (None, self._key_bytes))
        most = LARGEST if self.score.level_of(np.zeros(self.score.n_nodes)) is None else LARGEST_LOG
        values = fields.array("values", np.float64, (len(packed),), -most, most)
        raw, width = packed.tobytes(), self._key_bytes
        keys = [raw[start : start + width] for start in range(0, len(raw), width)]
        families = Families.from_keys(keys, self.score.n_nodes)
        if not limits.allow(families.nodes, families.parents) or families.keys() != keys:
            fields.refuse("keys", "be families that the knowledge allows", "others")
        found = dict(zip(keys, values.tolist(), strict=True))
        if len(found) < len(keys):
            fields.refuse("keys", "differ from each other", "the same family twice")
        self._values, self._order = found, keys

    @property
    def _key_bytes(self) -> int:
        """Bytes of a family's key."""
        return 4 + -(-self.score.n_nodes // 8)
