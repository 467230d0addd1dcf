"""A run that is ended at any moment of its life is followed by a resume, or by a fresh fit, with the same result.

Every route is tried at every moment with every signal. The signal comes where the run calls a certain function, so that
no trial depends on the clock.
"""

import os
import shutil
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from click.testing import CliRunner

from drbo.cli import main
from drbo.errors import DrboError
from tests.faults.campaign import save_always
from tests.forked import Ended, forked

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


class Moment(NamedTuple):
    """A moment of a run, by the function that is called then; the signal comes with a certain call of it."""

    words: str
    place: str
    follows: str  # for docs/developers/faults.md
    call: int = 1
    inside: bool = False  # at the end of the function, not before it


FRESH = "the same `drbo fit` starts afresh: nothing was computed yet, and an older run in the folder is there again"
RESUME = (
    "`drbo resume` gives the result of an uninterrupted run; one of several searches is fitted again with `--force`"
)
#: Where a run is ended: with what is said about each in docs/developers/faults.md.
MOMENTS = {
    "reading": Moment("before the table is read", "drbo.cli.commands.fit.gathered", FRESH),
    "plan": Moment("before its command is saved", "drbo.result.files.plan.Plan.save", FRESH),
    "table": Moment("while the table is saved", "drbo.search.checkpoint.saver.arrays_of", FRESH),
    "table saved": Moment(
        "between the table and the request", "drbo.search.checkpoint.saver.file_digest", FRESH, inside=True
    ),
    "request": Moment("once the search can be resumed", "drbo.search.checkpoint.request.save", RESUME, inside=True),
    "first state": Moment("while the first state is saved", "drbo.search.checkpoint.files.npz_bytes", RESUME),
    "search": Moment("during the search", "drbo.search.checkpoint.files.save", RESUME, call=3),
    "answer": Moment("when the search is over", "drbo.pipeline.improved", RESUME),
    "claims": Moment("during the claims", "drbo.pipeline.run_claims", RESUME),
    "bootstrap": Moment("during a bootstrap", "drbo.refitting.FittedModel.bootstrap", RESUME),
    "result": Moment("while the result is saved", "drbo.result.files.storage.npz_bytes", RESUME),
    "report": Moment("while the report is written", "drbo.result.report.page.report_html", RESUME),
}

#: Options of a fit that takes a route; tables are made by :func:`tables`.
ROUTES: dict[str, tuple[str, ...]] = {
    "orders": ("numbers.csv",),
    "surrogate": ("numbers.csv", "--score", "bge", "--max-evals", "12"),
    "paper": ("numbers.csv", "--set", "preset=paper", "--set", "n_candidates=300", "--max-evals", "12"),
    "hidden": ("numbers.csv", "--hidden"),
    "experiments": ("runs.csv", "--experiment", "run", "--control", "plain"),
    "targets": ("runs.csv", "--experiment", "run", "--control", "plain", "--set", "targets=targets.csv"),
    "series": ("series.csv", "--time", "t", "--unit", "id", "--max-lag", "2", "--season", "4", "--trend", "line"),
    "arms": ("mixed.csv", "--randomised", "g", "--outcome", "e", "--neighbourhood"),
    "groups": ("groups.csv", "--groups", "run", "--missing", "drop"),
    "weights": ("weights.csv", "--weights", "w"),
    "em": ("holes.csv", "--missing", "em"),
    "mixed": ("mixed.csv", "--score", "mixed"),
    "stream": ("numbers.csv", "--read", "stream=true"),
    "impute": ("holes.csv", "--missing", "impute", "--set", "imputations=2", "--score", "bic-nv"),
    "own score": ("numbers.csv", "--score", "own_score:Own", "--max-evals", "12"),
    "bootstrap": ("numbers.csv", "--score", "bic-nv", "--bootstrap", "3"),
}
OWN_SCORE = """
class Own:
    def __init__(self, table):
        self.x = table.values - table.values.mean(0)

    def local_one(self, node, parents):
        import numpy as np

        y, x = self.x[:, node], self.x[:, list(parents)]
        left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0] if len(parents) else y
        return -len(y) * np.log((left**2).mean()) - 5.0 * len(parents)
"""


def tables(folder: Path) -> None:
    """Write the tables and the score of all routes into a folder."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 5))
    x[:, 2] += x[:, 0] - x[:, 1]
    x[:, 4] += 0.7 * x[:, 2]
    frame = pd.DataFrame(x, columns=list("abcde"))
    frame.to_csv(folder / "numbers.csv", index=False)
    holes = frame.mask(rng.random(frame.shape) < 0.05)
    holes.to_csv(folder / "holes.csv", index=False)
    codes = np.where(frame["a"] + rng.normal(size=80) > 0, "high", "low")
    frame.assign(g=codes).to_csv(folder / "mixed.csv", index=False)
    runs = np.where(np.arange(80) < 40, "plain", "heated")
    frame.assign(b=frame["b"] + 2.0 * (runs == "heated"), run=runs).to_csv(folder / "runs.csv", index=False)
    (folder / "targets.csv").write_text("experiment,target\nheated,b\n")
    holes.assign(run=np.arange(80) // 4).to_csv(folder / "groups.csv", index=False)
    frame.assign(w=np.arange(80) % 3 + 1).to_csv(folder / "weights.csv", index=False)
    frame.assign(t=np.arange(80) % 40, id=np.arange(80) // 40).to_csv(folder / "series.csv", index=False)
    (folder / "own_score.py").write_text(OWN_SCORE)


def command(words: tuple[str, ...], folder: Path, moment: Moment | None = None, number: int = 0) -> Ended:
    """Run a command in a fork in a folder; with a moment, the signal comes then."""

    def work() -> None:
        os.chdir(folder)
        save_always()
        if moment is not None:
            _interrupt(moment, number)
        main(list(words), prog_name="drbo")

    return forked(work)


def _interrupt(moment: Moment, number: int) -> None:
    """Let a signal come when a function is called, once."""
    home, _, name = moment.place.rpartition(".")
    try:
        owner: Any = import_module(home)
    except ModuleNotFoundError:  # a method
        module, _, kind = home.rpartition(".")
        owner = getattr(import_module(module), kind)
    real: Callable[..., Any] = getattr(owner, name)
    calls = [0]

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        now = calls[0] == moment.call
        if now and not moment.inside:
            os.kill(os.getpid(), number)
        found = real(*args, **kwargs)
        if now and moment.inside:
            os.kill(os.getpid(), number)
        return found

    setattr(owner, name, wrapped)


def told(folder: Path) -> dict[str, Any]:
    """Return all that a saved result holds but seconds, checksums and the words of the command.

    Of what was spent the sum counts: a resumed search may look up neighbouring families a round earlier. That of a
    climb over orders does not: local scores that it computes again after a resume, it counts again.
    """
    from drbo.data.files.files import read_json

    content = read_json((folder / "result.json").read_bytes())
    content = {key: value for key, value in content.items() if key not in ("sha256", "argv")}
    counts = () if content["provenance"]["settings"]["route"] != "orders" else ("n_evals", "n_local")
    for name in ("seconds", *counts):
        content["search"].pop(name)
    with np.load(folder / "result.npz") as archive:
        spent = {name: archive[name][-1:] for name in ("search.trace.n_evals", "search.trace.n_local")}
        read = {name: spent.get(name, archive[name]) for name in sorted(archive.files)}
    arrays = {name: (array.dtype.str, array.tobytes()) for name, array in read.items()}
    for name in ("seconds", *counts):
        arrays.pop(f"search.trace.{name}")
    return content | {"arrays": arrays, "edges.csv": (folder / "edges.csv").read_text()}


def attempt(route: str, moment: Moment, number: int, home: Path, whole: dict[str, Any]) -> str:
    """End a run at a moment, go on with it, and return what is wrong; nothing: the result is the uninterrupted one."""
    folder = home / "trial"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tables(folder)
    words = ("fit", *ROUTES[route], "--seed", "1", "-q", "-o", "run")
    first = command(words, folder, moment, number)
    named = ROUTES[route][1:3] if ":" in "".join(ROUTES[route]) else ()  # a score that no file may name
    second = command(("resume", "run", "-q", *named), folder)
    if second.code not in (0, 130):
        second = command(words, folder)
        if second.code == 2 and "already contains a finished run" in second.err:  # of several searches: not resumable
            second = command((*words, "--force"), folder)
    if second.code != 0:
        return f"ended with {first.code}; then neither a resume nor a fit works: {second.err[-400:]}"
    left = [path.name for path in (folder / "run").rglob("*") if path.name.startswith(".")]
    if left:
        return f"left behind: {left}"
    try:
        found = told(folder / "run")
    except (DrboError, OSError, ValueError) as error:
        return f"the result cannot be read: {error}"
    different = [key for key in whole if whole[key] != found.get(key)]
    return f"other {', '.join(different)}" if different or found.keys() != whole.keys() else ""


def load_modules(home: Path) -> None:
    """Fit a table in this process: its forks then have all modules, whose import takes ten times as long as a trial."""
    tables(home)
    done = CliRunner().invoke(main, ["fit", str(home / "numbers.csv"), "-q", "-o", str(home / "loaded")])
    assert done.exit_code == 0, done.output


def uninterrupted(route: str, home: Path) -> dict[str, Any]:
    """Return what a run tells that nobody ends."""
    folder = home / "whole"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tables(folder)
    done = command(("fit", *ROUTES[route], "--seed", "1", "-q", "-o", "run"), folder)
    assert done.code == 0, done.err
    return told(folder / "run")


def moments(home: Path, *, rows: Callable[[dict[str, Any]], object] = print) -> list[dict[str, Any]]:
    """Try every route at every moment with every signal; return a row for each route."""
    found = []
    load_modules(home)
    for route in ROUTES:
        whole, wrong, tried = uninterrupted(route, home), [], 0
        for name, moment in MOMENTS.items():
            for number in SIGNALS:
                tried += 1
                if problem := attempt(route, moment, number, home, whole):
                    wrong.append(f"{name}, {number.name}: {problem}")
        note = f"{len(MOMENTS)} moments x {len(SIGNALS)} signals" + "".join(f"; {one:.200}" for one in wrong[:3])
        found.append({"search": route, "tried": tried, "failed": len(wrong), "note": note})
        rows(found[-1])
    return found
