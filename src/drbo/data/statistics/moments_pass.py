"""Sums up a source into a file of moments; a pass that ends early is kept beside it, and the next one goes on there."""

import time
from dataclasses import dataclass
from pathlib import Path

from drbo.data.reading.source import Source
from drbo.data.statistics.moments_file import Begun, load_part, save_moments, save_part
from drbo.data.statistics.stream import Spread, in_turn, streamed
from drbo.data.statistics.sums import Sums
from drbo.errors import DrboError, SettingsError

#: Added to the name of the file while some rows are still to be read.
PARTIAL = ".partial"
#: Seconds between two times that the sums so far are saved.
KEPT_SECONDS = 10.0


@dataclass(frozen=True)
class MomentsPass:
    """A pass over a source that writes its moments to an .npz file.

    Parameters
    ----------
    source : the rows; files of moments are added up.
    output : the file to write.
    resamples : so many resamples of the rows are summed up, too, drawn with the ``seed``.

    Examples
    --------
    >>> import tempfile
    >>> from drbo.data.reading.read import open_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "t.csv"
    ...     size = file.write_text("a,b\\n1,2\\n3,4\\n5,7\\n")
    ...     MomentsPass(open_source(file), Path(folder) / "t.npz").run().n
    3
    """

    source: Source
    output: Path
    resamples: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.output.suffix.lower() != ".npz":
            raise SettingsError(
                f"moments can only be written as .npz, got '{self.output}'", hint="use a name that ends in .npz"
            )

    @property
    def partial(self) -> Path:
        """The file of a pass that has not come to its end."""
        return self.output.with_name(self.output.name + PARTIAL)

    def begun(self) -> Begun | None:
        """Return what an earlier pass has summed up, if it was of this source and that has not changed since."""
        if not self.partial.exists():
            return None
        try:
            begun = load_part(self.partial)
            drawn = 0 if begun.sums.resamples is None else len(begun.sums.resamples)
            now = tuple(part.stamp() for part in self.source.parts()[: len(begun.files)])
            if begun.files == now and now and drawn == self.resamples:
                return begun
        except (DrboError, OSError):  # begin again
            pass
        return None

    def run(self, begun: Begun | None = None, spread: Spread = in_turn) -> Sums:
        """Write the moments, and return them; what is summed up is saved every few seconds, and if the pass fails."""
        latest: Begun | None = None
        saved = time.monotonic()

        def keep(so_far: Begun) -> None:
            nonlocal latest, saved
            latest = so_far
            if time.monotonic() > saved + KEPT_SECONDS:
                save_part(self.partial, so_far)
                saved = time.monotonic()

        try:
            found = streamed(
                self.source, begun=begun, tell=keep, seed=self.seed, resamples=self.resamples, spread=spread
            )
        except BaseException:
            if latest is not None:
                save_part(self.partial, latest)
            raise
        assert found.sums is not None
        save_moments(self.output, found.sums)
        self.partial.unlink(missing_ok=True)
        return found.sums
