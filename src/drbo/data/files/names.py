"""Names of nodes: the given ones, or x0, x1, ... for a graph without names."""

from collections import Counter
from collections.abc import Sequence

from drbo.data.reading.text import is_unicode
from drbo.errors import ResultError


def check_names(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """Return d unique names; x0, x1, ... where there are none."""
    if names is None:
        return tuple(f"x{j}" for j in range(d))
    found = tuple(names)
    if len(found) != d:
        raise ResultError(f"{d} nodes need {d} names, got {len(found)}")
    for name in found:
        if not isinstance(name, str) or not name:
            raise ResultError(f"a name must be a non-empty string, got {name!r}")
        if not is_unicode(name):
            raise ResultError(f"a name must be valid Unicode, got {name!r:.80}")
    if len(set(found)) < d:
        twice = next(name for name, count in Counter(found).items() if count > 1)
        raise ResultError(f"names must be unique, got {twice!r} twice")
    return found
