"""Records golden cases with the drbo that Python finds: ``python -m benchmarks.golden FOLDER [PATTERN]``."""

import json
import os
import sys
import time
import traceback
from fnmatch import fnmatchcase
from pathlib import Path

import drbo
from benchmarks.golden.adapter import run_commands, run_fit
from benchmarks.golden.cases import CASES, Fit


def record(folder: Path, only: str = "*") -> None:
    """Write a file for each case; one that fails in a way that no user should see has a traceback in its place."""
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{drbo.__file__} -> {folder}", flush=True)
    for name, case in CASES.items():
        if not fnmatchcase(name, only):
            continue
        start = time.process_time()
        try:
            found = run_fit(case) if isinstance(case, Fit) else run_commands(case)
        except Exception:
            found = {"broken": traceback.format_exc().splitlines()[-1]}
            traceback.print_exc()
        (folder / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
        print(f"{time.process_time() - start:6.2f} s  {name}", flush=True)


if __name__ == "__main__":
    record(Path(sys.argv[1]), *sys.argv[2:])
    os._exit(0)  # without a last search for garbage, of which compiled modules would report what is left
