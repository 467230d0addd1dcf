"""Versions that somebody named: the statements, and the result that they led to."""

from pathlib import Path
from typing import Any, NamedTuple

from drbo.data.files.files import read_bytes, write_file
from drbo.errors import SettingsError
from drbo.studio.said import Said, checked_name

MOST_VERSIONS, MOST_BYTES = 50, 2**30
RESULT = ("result.json", "result.npz")


class Version(NamedTuple):
    """A version, and the name of the one that it came from."""

    name: str
    parent: str
    said: Said


class Versions:
    """All versions of a studio; ``at`` is the one that was named or opened last."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._all, self.at = folder, list[Version](), ""

    def keep(self, name: Any, said: Said) -> None:
        """Name what is on the page."""
        name = checked_name(name)
        if len(self._all) >= MOST_VERSIONS or any(one.name == name for one in self._all):
            raise SettingsError(
                f"there is a version {name!r:.80}, or there are {MOST_VERSIONS}", hint="choose a new name"
            )
        place = self.place(len(self._all))
        place.mkdir(mode=0o700, exist_ok=True)
        for file in RESULT:
            write_file(place / file, read_bytes(self._folder / file, MOST_BYTES, follow=False), 0o600)
        self._all.append(Version(name, self.at, said))
        self.at = name

    def __getitem__(self, number: Any) -> Version:
        """Return a version by its number."""
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self._all):
            raise SettingsError(f"there is no version {number!r:.80}")
        return self._all[number]

    def place(self, number: int) -> Path:
        """Return the folder of the result of a version."""
        return self._folder / f"version-{number + 1}"

    def shown(self) -> list[dict[str, str]]:
        """Return the versions for the page: each after the one that it came from."""
        return [{"name": one.name, "parent": one.parent} for one in self._all]

    def to_list(self) -> list[Any]:
        """Return plain values, fit for JSON."""
        return [[one.name, one.parent, one.said.to_mapping()] for one in self._all]

    def read(self, content: Any) -> None:
        """Read what :meth:`to_list` returns."""
        if not isinstance(content, list) or any(not isinstance(one, list) or len(one) != 3 for one in content):
            raise SettingsError("the versions of a studio must be a list of three parts each")
        self._all = [Version(checked_name(one[0]), str(one[1]), Said.from_mapping(one[2])) for one in content]
        self.at = self._all[-1].name if self._all else ""
