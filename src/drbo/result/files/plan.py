"""Saves what a run was asked for in its folder: 'drbo resume' completes all of it, and no run is overwritten."""

import io
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drbo.errors import ResultError
from drbo.result.words.plain_text import shell_line

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FORMAT, FORMAT_VERSION = "drbo-run", 2
PLAN, CLUSTERS = "run.json", "clusters.npy"
RESAMPLES = "resamples.json"


@dataclass(frozen=True)
class Plan:
    """A run: its command, and the resamples that follow the search."""

    argv: tuple[str, ...]  # the words of the command
    started: str  # for people
    resumable: bool = True  # one search: not many seeds, nor completed tables
    resamples: int = 0
    kind: str = "bootstrap"

    @property
    def call(self) -> str:
        """The command as a line for the shell, whatever its words are."""
        return shell_line(self.argv)

    def save(self, folder: Path, clusters: "npt.NDArray[np.intp] | None" = None) -> None:
        """Write the plan into the folder of the run; clusters are the groups of the rows that the search uses."""
        import numpy as np

        from drbo.data.files.files import npy_bytes, write_file

        if clusters is not None:
            _, codes = np.unique(clusters, return_inverse=True)
            write_file(folder / CLUSTERS, npy_bytes(codes.astype(np.int64)), 0o600)  # data, for its owner alone
        content = {"format": FORMAT, "version": FORMAT_VERSION, **asdict(self)}
        write_file(folder / PLAN, json.dumps(content, indent=1).encode())

    @classmethod
    def load(cls, folder: Path) -> "Plan | None":
        """Read the plan of a run; None: there is none."""
        from drbo.data.files.files import MAX_TEXT_BYTES, check_version, read_bytes, read_json, refusing

        path = folder / PLAN
        if not path.exists():
            return None
        with refusing(path):
            content = read_json(read_bytes(path, MAX_TEXT_BYTES, follow=False))
            if not isinstance(content, dict) or content.get("format") != FORMAT:
                raise ResultError(
                    f"{path} does not describe a run of drbo", hint="give a folder that 'drbo fit -o' wrote"
                )
            check_version(content.get("version"), FORMAT_VERSION, path)
            fields: dict[str, Any] = {name: content.get(name) for name in cls.__dataclass_fields__}
            words = fields["argv"]
            if type(words) is not list or words[:1] != ["drbo"] or not all(type(word) is str for word in words):
                raise ResultError(f"{path}: 'argv' must be the words of a drbo command, got {words!r:.80}")
            fields["argv"] = tuple(words)
            for name, value in fields.items():
                kind = tuple if name == "argv" else type(getattr(cls, name, ""))
                if type(value) is not kind:
                    raise ResultError(f"{path}: '{name}' must be {kind.__name__}, got {value!r:.80}")
        return cls(**fields)

    def with_resamples(self, n: int) -> "Plan":
        """Return the plan with this many resamples in all.

        Examples
        --------
        >>> plan = Plan(("drbo", "fit", "table.csv", "--bootstrap", "block:100"), "now", resamples=100)
        >>> plan.with_resamples(200).call
        'drbo fit table.csv --bootstrap block:200'
        """
        words = [*self.argv]
        if "--bootstrap" in words[:-1]:
            place = words.index("--bootstrap") + 1
            words[place] = f"{''.join(words[place].rpartition(':')[:2])}{n}"
        elif words:
            words += ["--bootstrap", str(n)]
        return replace(self, argv=tuple(words), resamples=n)

    def resampling(self, folder: Path) -> dict[str, Any] | None:
        """Return the arguments of the bootstrap that the run was asked for, of the rows that the search used."""
        if not self.resamples:
            return None
        wish: dict[str, Any] = {"n": self.resamples, "kind": self.kind, "keep": folder / RESAMPLES}
        return wish | ({"clusters": _read_clusters(folder / CLUSTERS)} if self.kind == "cluster" else {})


def _read_clusters(path: Path) -> Any:
    from drbo.data.files.files import read_bytes, read_npy, refusing
    from drbo.data.files.packed import MAX_INPUT

    with refusing(path):
        return read_npy(io.BytesIO(read_bytes(path, MAX_INPUT, follow=False)), f"{path}", kinds="i", limit=MAX_INPUT)
