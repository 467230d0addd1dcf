"""The differences between two records of the golden cases."""

import math
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

#: Numbers that agree to this share differ by rounding.
ROUNDING = 1e-12
MISSING = "(missing)"


class Difference(NamedTuple):
    """A field of a case that two records disagree on."""

    where: str  # case:field/of/field
    before: Any
    after: Any

    @property
    def is_rounding(self) -> bool:
        """Both are numbers that agree in nearly all digits."""
        pair = self.before, self.after
        return all(isinstance(one, float) for one in pair) and math.isclose(*pair, rel_tol=ROUNDING)

    def is_accepted(self, accepted: Iterable[str]) -> bool:
        """Tell whether a reviewed line, in which * stands for anything, names this field or one that holds it."""
        return any(fnmatchcase(self.where, line) or fnmatchcase(self.where, f"{line}/*") for line in accepted)

    def __str__(self) -> str:
        return f"{self.where}\n    before  {self.before!r:.400}\n    after   {self.after!r:.400}"


def differences(before: Any, after: Any, where: str) -> Iterator[Difference]:
    """Yield every field that differs."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differences(before.get(key, MISSING), after.get(key, MISSING), f"{where}/{key}")
    elif isinstance(before, list) and isinstance(after, list):
        yield from _in_lists(before, after, where)
    elif not _equal(before, after):
        yield Difference(where, before, after)


def _in_lists(before: list[Any], after: list[Any], where: str) -> Iterator[Difference]:
    if len(before) == len(after):
        for k, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{where}/{k}")
        return
    texts = [[str(item) for item in part] for part in (before, after)]  # such as lines, some of which are new
    for kind, i, j, k, end in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Difference(f"{where}/{i}", before[i:j] or MISSING, after[k:end] or MISSING)


def _equal(before: Any, after: Any) -> bool:
    if isinstance(before, float) and isinstance(after, float):
        return before == after or (math.isnan(before) and math.isnan(after))
    return type(before) is type(after) and bool(before == after)
