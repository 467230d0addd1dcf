"""Searches that go on from forged checkpoints, and what they must not do.

    python -m tests.faults.attack --cases 1000 --seed 1

A case is good if ``DrBO.resume`` raises a DrboError, or if the search goes on and ends within its limits. An audit hook
watches meanwhile for code that is run, processes, imports, connections, and files that are written outside of the
folder: each of them is an escape, and so are other exceptions, and more time than CASE_SECONDS.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.faults.forge import Saved, bases, forgeries
from tests.faults.fuzz import _ring, limit_memory

CASE_SECONDS = 10
#: What a search that goes on may still spend.
MORE_EVALS, MORE_SECONDS = 6, 2.0

#: Events that no file may cause.
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen", "pickle.find_class")
FORBIDDEN += ("marshal.loads", "socket.connect", "webbrowser.open", "code.__new__", "function.__new__")


class Watch:
    """An audit hook that notes what a case must not do; it cannot be taken away again."""

    def __init__(self) -> None:
        self.armed, self.folder, self.seen = False, "", list[str]()
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        bad = event in FORBIDDEN
        if event == "exec":  # a module that is imported has a file
            bad = getattr(arguments[0], "co_filename", "<").startswith("<")
        elif event == "compile":  # ast.parse, which reads headers of arrays, makes nothing that could run
            bad = arguments[1] not in ("<unknown>", None)
        elif event == "import":
            bad = arguments[0].partition(".")[0] not in sys.modules
        elif event == "open":
            path, mode, flags = arguments
            writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (flags or 0) & (os.O_WRONLY | os.O_RDWR)
            bad = bool(writes) and not isinstance(path, int) and not os.fsdecode(path).startswith(self.folder)
        if bad:
            self.seen.append(f"{event} {arguments!r:.200}")


def attempt(saved: Saved, watch: Watch, home: Path) -> tuple[bool, str]:
    """Let a search go on from a checkpoint; return whether it behaved, and its answer."""
    from drbo import DrBO
    from drbo.errors import DrboError

    shutil.rmtree(home, ignore_errors=True)
    saved.write(home / "run")
    watch.seen, watch.folder, watch.armed = [], str(home), True
    signal.setitimer(signal.ITIMER_REAL, CASE_SECONDS, 1.0)  # again and again: a destructor swallows an exception
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            DrBO.resume(home / "run", max_evals=MORE_EVALS, time_limit=MORE_SECONDS)
        answer = "went on"
    except DrboError as error:
        words = f"{type(error).__name__}: {error.message.replace(str(home), '')}"
        answer = re.sub(r"'[^']*'|[0-9]+", "_", words)[:110]
    except BaseException:
        return False, traceback.format_exc()
    finally:
        watch.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
    return not watch.seen, "; ".join(watch.seen) or answer


def warm_up(base: Saved, home: Path) -> None:
    """Import and compile what a search needs, also one without progress, which climbs over orders for a change."""
    from drbo import DrBO

    stuck = deepcopy(base)
    if "stalled" in (proposer := stuck.plain["state"].get("proposer", {})):
        proposer["stalled"] = 10
    for saved in (base, stuck):
        shutil.rmtree(home, ignore_errors=True)
        saved.write(home / "run")
        DrBO.resume(home / "run", max_evals=MORE_EVALS)


def run(cases: int, seed: int) -> dict[str, Any]:
    """Try so many forgeries; return what became of them."""
    watch, before = Watch(), signal.signal(signal.SIGALRM, _ring)
    answers, escapes, slowest, start = dict[str, int](), list[str](), 0.0, time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "case"
        for name, base in bases().items():
            warm_up(base, home)
            assert attempt(base, watch, home) == (True, "went on"), name
        limit_memory()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number, (what, saved) in enumerate(forgeries(cases, seed)):
            begun = time.monotonic()
            good, answer = attempt(saved, watch, home)
            seconds = time.monotonic() - begun
            slowest = max(slowest, seconds)
            answers[answer] = answers.get(answer, 0) + 1
            if not good or seconds > CASE_SECONDS:
                escapes.append(f"case {number}, {what}, {seconds:.1f} s: {answer}")
    signal.signal(signal.SIGALRM, before)
    return {
        **{"cases": cases, "answers": len(answers), "went_on": answers.get("went on", 0), "escapes": len(escapes)},
        **{"slowest": round(slowest, 3), "seconds": round(time.monotonic() - start, 1)},
        "megabytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) // 1024,
        "examples": escapes[:5],
    }


def main() -> int:
    """Try forgeries and print what became of them as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcome = run(options.cases, options.seed)
    print(json.dumps(outcome))
    return 1 if outcome["escapes"] else 0


if __name__ == "__main__":
    sys.exit(main())
