"""Whether time limits, signals and memory limits hold: the program itself is run, timed and weighed.

Seconds count from the start of the process to its end, reading included, with compiled code in the cache. Either the
machine should do nothing else; or it is busy, which allows more; or the seconds are those of the processor
(:mod:`tests.faults.processor_clock`), which say the same on a machine that does anything else.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from drbo.deadline import grace

ROOT = Path(__file__).parents[2]
#: What a table may take, in units of its own size in float64, beyond what the same run takes with few rows.
MOST_COPIES = 3.0
#: A signal is sent so long after the search has begun, at the latest.
SIGNAL_SECONDS = 3.0
#: Seconds of a small fit on two cores of which one does something else, and of the processor. On slower machines limits
#: are longer.
QUIET_SECONDS, QUIET_WORK = 4.0, 2.0
#: Limits are so many times longer at most, so that the campaign ends; what a run may take after them, at any pace.
MOST_PACE = 2.0
#: What is said where a limit is too short for a first graph; on a machine of more than MOST_PACE, it may be.
TOO_SHORT = ("before there was a result", "the table was not read to its end")
#: Seconds after its limit in which a run that waits has to end, where the machine may do anything else; one that hangs
#: takes longer.
LONG_ENOUGH = 120.0
#: Routes that are ended after the search, which may end by itself.
AFTER_THE_SEARCH = ("bootstrap", "seeds", "imputations", "exact")


@dataclass(frozen=True)
class Case:
    """A run of the program, and what ends it."""

    route: str  # its first words are one of drbo.settings, or a word of WAYS
    table: str  # as in TABLES
    words: tuple[str, ...]
    limit: float | None = None  # seconds; None: a signal ends it, or it ends by itself
    signal: int | None = None
    suffix: str = "npz"
    most: float | None = None  # seconds of a run that nothing ends
    command: str = "fit"
    code: int = 0
    first: tuple[str, ...] = field(default=())  # words of a fit that this run needs first
    waits: bool = False  # for a signal, another process or nothing at all: its work says nothing about its time

    @property
    def by_work(self) -> bool:
        """Whether the seconds of the processor say when the run ends."""
        return not self.waits and self.signal is None and self.suffix != "parquet" and "--workers" not in self.words


def _numbers(graph: str, n: int, **options: Any) -> np.ndarray:
    from drbo.data.files.simulate import simulate

    return simulate(graph, n=n, seed=1, **options).X


def _holes() -> np.ndarray:
    values = _numbers("30ER2", 500)
    values[np.random.default_rng(0).random(values.shape) < 0.05] = np.nan
    return values


def pairs(d: int, n: int) -> np.ndarray:
    """Return columns of which every two are linked, which leaves the direction of every edge open."""
    values = np.random.default_rng(0).standard_normal((n, d))
    values[:, 1::2] = 0.8 * values[:, ::2] + 0.6 * values[:, 1::2]
    return values


def _mixed() -> Any:
    import pandas as pd

    frame = pd.DataFrame(pairs(200, 1_000)).add_prefix("v")
    return frame.assign(**{name: np.where(frame[name] > 0, "high", "low") for name in frame.columns[::2]})


def _experiments() -> Any:
    import pandas as pd

    frame = pd.DataFrame(pairs(300, 2_000)).add_prefix("v").assign(run=np.repeat(["plain", "a", "b", "c"], 500))
    for k, name in enumerate("abc"):
        frame.loc[frame["run"] == name, frame.columns[10 * k : 10 * k + 10]] += 2
    return frame


def _series() -> Any:
    import pandas as pd

    places = np.arange(4_000)
    return pd.DataFrame(pairs(100, 4_000)).add_prefix("v").assign(t=places % 400 + 1, id=places // 400)


TABLES: dict[str, Callable[[], Any]] = {
    "3,000 linked columns x 1,000 rows": lambda: pairs(3_000, 1_000),
    "1,000 linked columns x 1,000 rows": lambda: pairs(1_000, 1_000),
    "30 columns x 1,000,000 rows": lambda: pairs(30, 1_000_000),
    "200 columns x 1,000 rows, half of them categories": _mixed,
    "300 columns x 2,000 rows, 4 experiments": _experiments,
    "100 columns x 4,000 rows, 10 series": _series,
    "3,000 columns x 1,000 rows": lambda: _numbers("3000ER2", 1_000),
    "1,000 columns x 2,000 rows": lambda: _numbers("1000ER2", 2_000),
    "300 columns x 1,000 rows": lambda: _numbers("300ER2", 1_000),
    "100 columns x 1,000,000 rows": lambda: _numbers("100ER2", 1_000_000),
    "100 columns x 1,000 rows": lambda: _numbers("100ER2", 1_000),
    "40 columns x 1,000 rows": lambda: _numbers("40ER4", 1_000),
    "30 columns x 500 rows": lambda: _numbers("30ER2", 500),
    "30 columns x 500 rows, 5% missing": _holes,
    "22 columns x 1,000 rows": lambda: _numbers("22ER4", 1_000),
    "18 columns x 1,000 rows": lambda: _numbers("18ER2", 1_000, model="cos"),
    "8 columns x 3,000 rows": lambda: _numbers("8ER2", 3_000, model="gp"),
    "8 columns x 200 rows": lambda: _numbers("8ER2", 200),
    "16,384 linked columns x 60 rows": lambda: pairs(2**14, 60),  # as many columns as there may be
}
WIDEST = "16,384 linked columns x 60 rows"
WIDE, LONG = "3,000 columns x 1,000 rows", "100 columns x 1,000,000 rows"
SMALL, KERNELS = "30 columns x 500 rows", "8 columns x 3,000 rows"
RESAMPLES = ("--bootstrap", "100000")
ENDLESS = ("--set", "order_patience=100000")
EXACT = ("--set", "exact=on")
IN_MEMORY = ("--set", "max_memory=16")
HANGING, CLOCK = "tests.faults.hanging", "tests.faults.processor_clock"
SERIES = "100 columns x 4,000 rows, 10 series"
PAIRS, ROWS = "1,000 linked columns x 1,000 rows", "30 columns x 1,000,000 rows"
#: One limit for each route, for tables of each kind and for each way to hang, in few minutes.
REDUCED = (
    Case("orders", "3,000 linked columns x 1,000 rows", (), limit=15),
    Case("orders", PAIRS, (), limit=8),
    Case("orders", ROWS, (), limit=10, suffix="npy"),
    Case("stream", ROWS, ("--read", "stream=true"), limit=10, suffix="parquet"),
    Case("hidden", PAIRS, ("--hidden",), limit=10),
    Case("experiments", "300 columns x 2,000 rows, 4 experiments", ("--experiment", "run", "--control", "plain"),
         limit=8, suffix="csv"),
    Case("series", SERIES, ("--time", "t", "--unit", "id", "--max-lag", "5"), limit=10, suffix="csv"),
    Case("mixed", "200 columns x 1,000 rows, half of them categories", (), limit=8, suffix="csv"),
    Case("bootstrap", SMALL, RESAMPLES, limit=8),
    Case("seeds", SMALL, ("--set", "seeds=1000"), limit=8),
    Case("imputations", "30 columns x 500 rows, 5% missing", ("--missing", "impute"), limit=8),
    Case("exact, by tables", "22 columns x 1,000 rows", EXACT, limit=8),
    Case("surrogate", "100 columns x 1,000 rows", ("--set", "route=surrogate"), limit=10),
    Case("paper", "100 columns x 1,000 rows", ("--set", "preset=paper"), limit=10),
    Case("own score that sleeps", "8 columns x 200 rows", ("--score", f"{HANGING}:Sleeping"), limit=7, waits=True),
    Case("own score that is busy", "8 columns x 200 rows", ("--score", f"{HANGING}:Busy"), limit=7, waits=True),
    Case("own score in compiled code", "8 columns x 200 rows", ("--score", f"{HANGING}:Compiled"),
         signal=signal.SIGTERM, code=130),
)  # fmt: skip
#: Commands that answer about a run of many columns, or say in time that they cannot.
ANSWERS = ("effects", "next", "score", "compare", "report", "export")
#: What a case may be about beside a route.
WAYS = ("stream", "hidden", "experiments", "series", "groups", "weights", "mixed", "bootstrap", "seeds", "imputations",
        "exact", "gp", "own", "resume", "judge", "check", "reading", *ANSWERS)  # fmt: skip
CASES = (
    *REDUCED,
    Case("orders", WIDE, (), limit=30),
    Case("hidden", "3,000 linked columns x 1,000 rows", ("--hidden",), limit=30),
    Case("orders", "1,000 columns x 2,000 rows", (), limit=20),
    Case("orders", LONG, IN_MEMORY, limit=10, suffix="parquet"),
    Case("orders", LONG, IN_MEMORY, limit=10, suffix="npy"),
    Case("orders", LONG, IN_MEMORY, limit=10, suffix="csv"),
    Case("groups", SERIES, ("--groups", "id", "--drop", "t"), limit=8, suffix="csv"),
    Case("weights", SERIES, ("--weights", "t", "--drop", "id"), limit=8, suffix="csv"),
    Case("orders, equal variances", "1,000 columns x 2,000 rows", ("--score", "bic-ev"), limit=20),
    Case("orders, splines", "300 columns x 1,000 rows", ("--score", "splines"), limit=15),
    Case("bootstrap, 2 workers", SMALL, (*RESAMPLES, "--workers", "2"), limit=15),
    Case("exact, by evaluation", "18 columns x 1,000 rows", (*EXACT, "--score", "splines"), limit=10),
    Case("exact, by parent sets", "40 columns x 1,000 rows", (*EXACT, "--set", "order_patience=1"), limit=15),
    Case("gp", KERNELS, ("--score", "gp"), limit=20),
    Case("gp, paper", KERNELS, ("--score", "gp-nv"), limit=20),
    Case("resume", "300 columns x 1,000 rows", (), limit=15, command="resume", first=(*ENDLESS, "--time-limit", "6")),
    Case("judge", "300 columns x 1,000 rows", (), limit=15, command="judge", first=("--time-limit", "10")),
    *(Case(name, PAIRS, (), limit=5, command=name, first=("--time-limit", "10")) for name in ANSWERS),
    Case("check", LONG, (), command="check", suffix="parquet", most=60),
    Case("check", WIDE, (), command="check", most=60),
    Case("orders", WIDE, (), signal=signal.SIGTERM, code=130),
    Case("orders", WIDE, (), signal=signal.SIGINT, code=130),
    Case("bootstrap", SMALL, RESAMPLES, signal=signal.SIGTERM, code=130),
    Case("gp", KERNELS, ("--score", "gp"), signal=signal.SIGINT, code=130),
    Case("exact, by tables", "22 columns x 1,000 rows", EXACT, signal=signal.SIGTERM, code=130),
    Case("reading", LONG, IN_MEMORY, signal=signal.SIGTERM, suffix="csv", code=130),
    # The last ones: a process begins with the memory that this one has used before, to look at what was saved.
    *(Case("orders", WIDEST, (), limit=limit) for limit in (10, 30, 120)),
)


@dataclass(frozen=True)
class Run:
    """What a run of the program took, and what it said."""

    seconds: float
    work: float  # seconds of the processor
    after_signal: float
    memory: float  # MiB at most
    code: int
    words: str


def run(
    words: list[str], number: int | None = None, patience: float = 4 * SIGNAL_SECONDS, *, program: str = "drbo"
) -> Run:
    """Run the program; with a signal, send it once the search is under way, or when the patience is over."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as talk:
        process = subprocess.Popen([sys.executable, "-m", program, *words], stdout=talk, stderr=talk, cwd=ROOT)
        sent = start
        if number is not None:
            _wait_for_search(process, talk, patience)
            sent = time.monotonic()
            os.kill(process.pid, number)  # of a run that has ended, the process is still there
        _, status, usage = os.wait4(process.pid, 0)
        end = time.monotonic()
        process.returncode = os.waitstatus_to_exitcode(status)
        talk.seek(0)
        memory = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
        return Run(end - start, usage.ru_utime + usage.ru_stime, end - sent, memory, process.returncode, talk.read())


def _wait_for_search(process: "subprocess.Popen[bytes]", talk: Any, patience: float) -> None:
    """Return when the table was read and the search has had some seconds; at the latest when patience is over."""
    end = time.monotonic() + patience
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while time.monotonic() < end and os.waitid(os.P_PID, process.pid, options) is None:
        time.sleep(0.1)
        position = talk.tell()
        talk.seek(0)
        words = talk.read()
        talk.seek(position)
        if " rows, " in words:
            end = min(end, time.monotonic() + patience / 2)
            if re.search("(search|resamples): (?!evaluating the first)", words):
                return


def write(values: Any, path: Path) -> Path:
    """Write a table as the ending of the name says."""
    if hasattr(values, "to_csv"):
        values.to_csv(path, index=False)
        return path
    names = [f"v{j}" for j in range(values.shape[1])]
    if path.suffix == ".npz":
        np.savez(path, X=values, names=np.array(names))
    elif path.suffix == ".npy":
        np.save(path, values)
    else:
        import pyarrow
        from pyarrow import csv, parquet

        frame = pyarrow.table(dict(zip(names, values.round(4).T if path.suffix == ".csv" else values.T, strict=True)))
        csv.write_csv(frame, path) if path.suffix == ".csv" else parquet.write_table(frame, path)
    return path


def made(name: str, path: Path) -> Path:
    """Write a table in a process of its own: what this one holds would count as memory of the runs it starts."""
    code = "import sys; from pathlib import Path; from tests.faults.limits import TABLES, write\n"
    code += "write(TABLES[sys.argv[1]](), Path(sys.argv[2]))"
    subprocess.run([sys.executable, "-c", code, name, str(path)], check=True)
    return path


class Trial:
    """All cases, with the tables that they share in one folder."""

    def __init__(self, folder: Path, *, busy: bool = False, by_work: bool = False) -> None:
        self.folder, self.busy, self.by_work, self.pace = folder, busy, by_work, 1.0
        self.table = cache(self._table)
        self.memory_of_short = cache(self._memory_of_short)
        self.reading = cache(self._reading)

    def _table(self, name: str, suffix: str) -> Path:
        return made(name, self.folder / f"{len(list(self.folder.iterdir()))}.{suffix}")

    def _memory_of_short(self, suffix: str) -> float:
        """Return what a run on the same columns with few rows takes, which also compiles what is compiled."""
        path = made("100 columns x 1,000 rows", self.folder / f"short.{suffix}")
        return run(["fit", str(path), "--time-limit", "10"]).memory

    def _reading(self, path: Path) -> float:
        """Return the seconds that reading a table takes in a process of its own, its start included."""
        start = time.monotonic()
        code = "import sys; from drbo.data.reading.read import read_table; read_table(sys.argv[1])"
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)
        return time.monotonic() - start

    def allowed_beyond(self, case: Case, limit: float) -> float:
        """Return how many seconds after its limit a run may end: a tenth of it, or a quarter beside busy processes."""
        if self.by_work and not case.by_work:
            return LONG_ENOUGH
        return self.pace * (max(5.0, 0.25 * limit) if self.busy else grace(limit))

    def measure(self) -> None:
        """Set the pace of the machine: how many times longer than on a quiet one a small fit takes."""
        found = run(["fit", str(self.table("8 columns x 200 rows", "npz")), "--set", "order_patience=1", "-q"])
        self.pace = max(1.0, found.work / QUIET_WORK if self.by_work else found.seconds / QUIET_SECONDS)

    def warm_up(self) -> None:
        """Compile what the cases need."""
        small = str(self.table("8 columns x 200 rows", "npz"))
        for words in ("--score bic-ev", "--score splines", "--score gp --max-evals 20", "--set exact=on",
                      "--score gp-nv", "--set route=surrogate", "--set preset=paper", "--bootstrap 2"):  # fmt: skip
            run(["fit", small, *words.split(), "--time-limit", "30"])
        run(["fit", str(self.table("40 columns x 1,000 rows", "npz")), "--set", "exact=on", "--time-limit", "30"])

    def outcome(self, case: Case) -> dict[str, Any]:
        """Return a row of the table of limits."""
        path, output = self.table(case.table, case.suffix), self.folder / "run"
        if case.limit is not None:
            case = replace(case, limit=round(min(self.pace, MOST_PACE) * case.limit, 1))
        program = CLOCK if self.by_work and case.by_work else "drbo"
        if case.first:
            run(["fit", str(path), "-o", str(output), "--force", *case.first], program=program)
        words = {
            "fit": ["fit", str(path), *case.words, "-o", str(output), "--force"],
            "resume": ["resume", str(output)],
            "judge": ["judge", str(path), str(output), "--as-is"],
            "check": ["check", str(path)],
            "effects": ["effects", str(output), str(path)],
            "next": ["next", str(output), str(path)],
            "score": ["score", str(path), str(output)],
            "compare": ["compare", str(output), str(output)],
            "report": ["report", str(output), "-o", f"{output}.html"],
            "export": ["export", str(output), f"{output}.dot"],
        }[case.command]
        if case.limit is not None:
            words += ["--time-limit", str(case.limit)]
        spent = _spent(output) if case.command == "resume" else 0.0
        patience = LONG_ENOUGH if self.by_work else (20 if case.table == WIDE else 4) * SIGNAL_SECONDS
        found = run(words, case.signal, patience, program=program)
        return self._row(case, path, output, found, spent)

    def _row(self, case: Case, path: Path, output: Path, found: Run, spent: float) -> dict[str, Any]:
        own = self.by_work and case.by_work
        seconds, allowed, note = (found.work if own else found.seconds) + spent, np.inf, ""
        ends = f"{case.limit:g} s" if case.limit is not None else "by itself"
        if case.signal is not None:
            ends, seconds = signal.Signals(case.signal).name, found.after_signal
            allowed = self.allowed_beyond(case, 0.0)
        elif case.limit is not None:
            allowed = case.limit + self.allowed_beyond(case, case.limit)
        elif case.most is not None:
            allowed = case.most
        if case.suffix == "csv" and case.limit is not None and not (self.busy or self.by_work):
            note = f"reading alone takes {self.reading(path):.1f} s"
        fails = [] if seconds <= allowed else [f"later than {allowed:.1f} s"]
        told = found.code == 2 and any(words in found.words for words in TOO_SHORT)
        too_slow = told and (self.pace > MOST_PACE or (self.by_work and not case.by_work))
        if too_slow:
            note = "this machine has no graph by then, and says so"
        elif told and (case.command in ANSWERS or case.table == WIDEST):
            too_slow = True
            note = "says that there is no time for an answer"
        elif found.code != case.code:
            fails.append(f"exit code {found.code}: {' '.join(found.words.split())[-300:]}")
        if case.command in ("fit", "resume") and case.route != "reading" and not too_slow:
            fails += _problems(case, output)
        row = {"route": case.route, "table": f"{case.table} ({case.suffix})", "ends": ends}
        row |= {"seconds": round(seconds, 1), "memory_mib": round(found.memory)}
        if case.table == LONG and case.signal is None and case.command == "fit":
            copies = (found.memory - self.memory_of_short(case.suffix)) * 2**20 / (8 * 1_000_000 * 100)
            row["copies"] = round(copies, 2)
            fails += [] if copies <= MOST_COPIES else [f"{copies:.1f} copies of the table"]
        if self.busy or self.by_work:
            row |= {"pace": round(self.pace, 1)}
        return row | {"tried": 1, "failed": int(bool(fails)), "note": "; ".join([note, *fails]).strip("; ")}


def _spent(output: Path) -> float:
    """Return the seconds that a saved search has taken."""
    return float(json.loads((output / "result.json").read_text())["search"]["seconds"])


def _problems(case: Case, output: Path) -> list[str]:
    """Return what is wrong with what was saved."""
    from drbo import Result
    from drbo.errors import DrboError

    try:
        result = Result.load(output)
    except DrboError as error:
        return [f"no result: {error.message}"]
    wanted = "time limit" if case.signal is None else "interrupted"
    ended = wanted in result.stopped or case.route.split(",")[0] in AFTER_THE_SEARCH
    ended |= case.limit is not None and not result.search.stop.cut_short  # the search did, and what follows in time
    return [] if ended else [f"it ended otherwise: {result.stopped}"]


def limits(
    only: str = "", cases: tuple[Case, ...] = CASES, *, busy: bool = False, by_work: bool = False
) -> list[dict[str, Any]]:
    """Try all cases, or those whose route or table holds some words; return the table of limits.

    ``busy``: other processes may run, and more is allowed; ``by_work``: seconds are those of the processor.
    """
    rows = []
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Path(place), busy=busy, by_work=by_work)
        if cases is CASES:
            trial.warm_up()
        if by_work:
            trial.measure()
        for case in cases:
            if only in f"{case.route} {case.table} {case.suffix}":
                if busy and not by_work:
                    trial.measure()
                rows.append(trial.outcome(case))
                if busy and not by_work and rows[-1]["failed"]:  # something else may have begun since
                    print(rows[-1], flush=True)
                    trial.measure()
                    rows[-1] = trial.outcome(case)
                print(rows[-1], flush=True)
    return rows
