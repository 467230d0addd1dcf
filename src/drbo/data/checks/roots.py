"""Columns that nothing in a table can cause, recognised by their names."""

import re
from collections.abc import Sequence

#: Words for what is fixed before anything else happens, and words that may stand beside them.
FIXED = frozenset({"age", "sex", "gender", "year", "birth", "birthdate", "birthday", "birthyear", "dob", "yob"})
BESIDE = frozenset(
    {"at", "baseline", "calendar", "date", "day", "entry", "in", "month", "of", "patient", "subject", "yrs", "years"}
)


def likely_roots(names: Sequence[str]) -> list[str]:
    """Return the columns whose names say that no other column can cause them: age, sex, year, date of birth.

    Examples
    --------
    >>> likely_roots(["Age", "birth weight", "dateOfBirth", "sex", "stage", "years_of_school"])
    ['Age', 'dateOfBirth', 'sex']
    """
    found = []
    for name in names:
        words = set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))
        if words & FIXED and words <= FIXED | BESIDE:
            found.append(name)
    return found
