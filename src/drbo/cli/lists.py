"""Lists of columns and of their types, as they are typed on a command line."""

import csv
import io
from collections.abc import Iterable

from drbo.errors import SettingsError


def listed(text: str) -> list[str]:
    """Return the names in a list with commas; a name with a comma stands in double quotes."""
    rows = list(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True))
    return [name.strip() for row in rows for name in row if name.strip()]


def as_list(names: Iterable[str]) -> str:
    """Return names as :func:`listed` reads them."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="").writerow(list(names))
    return text.getvalue()


def parsed_types(text: str) -> dict[str, str]:
    """Return the types in a text such as ``sex=category,grade=low<medium<high``."""
    found: dict[str, str] = {}
    for part in listed(text):
        name, equals, kind = (word.strip() for word in part.rpartition("="))
        if not equals or not name:
            raise SettingsError(
                f"types must have the form column=type, got {part!r:.80}", hint='for example "sex=category,dose=number"'
            )
        if name in found:
            raise SettingsError(f"types names the column '{name}' twice", hint="remove one of them")
        found[name] = kind
    return found
