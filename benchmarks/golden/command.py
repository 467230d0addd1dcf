"""``python -m benchmarks golden``: records all cases, and compares them with an earlier record or commit."""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

import benchmarks.golden
from benchmarks.golden.compare import MISSING, Difference, differences

ROOT = Path(__file__).parents[2]


def main(words: list[str]) -> int:
    """Record, or compare; return the exit code."""
    options = read(words)
    if options.record is not None:
        with sources(options.base, options.source) as source:
            record(options.record, source, options.only)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        before, after = options.compare or Path(folder, "before"), Path(folder, "after")
        if options.compare is None:
            with sources(options.base, options.source) as source:
                record(before, source, options.only)
        record(after, options.source, options.only)
        return compare(before, after, options.only, options.accept)


def read(words: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks golden",
        description=benchmarks.golden.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--record", type=Path, metavar="FOLDER", help="write a file for each case")
    what.add_argument("--compare", type=Path, metavar="FOLDER", help="compare the package with what was recorded there")
    parser.add_argument("--base", metavar="REV", help="record this commit; without --record: compare with it")
    parser.add_argument(
        "--source", type=Path, default=ROOT / "src", metavar="SRC", help="the package, if not in src here"
    )
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only cases whose names match, such as 'cli-*'")
    parser.add_argument(
        "--accept", type=Path, metavar="FILE", help="reviewed differences: lines CASE:FIELD, * for anything"
    )
    options = parser.parse_args(words)
    if not (options.record or options.compare or options.base):
        parser.error("give --record, --compare or --base")
    if options.compare and options.base:
        parser.error("--compare and --base both name what to compare with: give one of them")
    return options


@contextmanager
def sources(revision: str | None, source: Path) -> Iterator[Path]:
    """Give the folder of the package: this one, or that of a commit that has the same compiled core."""
    if revision is None:
        yield source
        return
    if subprocess.run(["git", "diff", "--quiet", revision, "--", "src/core"], cwd=ROOT).returncode:
        sys.exit(f"src/core differs from that of {revision}: build that commit in a worktree, and use --record there")
    packed = subprocess.run(["git", "archive", revision, "src/drbo"], cwd=ROOT, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
        for core in (source / "drbo").glob("_core.*.so"):
            shutil.copy(core, f"{folder}/src/drbo")
        yield Path(folder, "src")


def record(folder: Path, source: Path, only: str = "*") -> None:
    """Record the cases with the package in a folder, by one thread in a process of its own."""
    threads = {f"{kind}_NUM_THREADS": "1" for kind in ("OMP", "OPENBLAS", "MKL")}
    place = {"PYTHONPATH": os.pathsep.join([str(source.absolute()), str(ROOT)])}
    command = [sys.executable, "-m", "benchmarks.golden", str(folder.absolute()), only]
    subprocess.run(command, env={**os.environ, **threads, **place}, check=True)


def compare(before: Path, after: Path, only: str = "*", accept: Path | None = None) -> int:
    """Print what differs between two folders; return 1 if more than rounding differs that was not accepted."""
    accepted = [line.strip() for line in accept.read_text().splitlines() if line.strip()] if accept else []
    names = sorted({path.stem for folder in (before, after) for path in folder.glob("*.json")})
    names = [name for name in names if fnmatchcase(name, only)]
    found = [one for name in names for one in _in_case(before, after, name)]
    new = [one for one in found if not one.is_accepted(accepted)]
    rounding = [one for one in new if one.is_rounding]
    for title, part in (("rounding", rounding), ("differences", [one for one in new if not one.is_rounding])):
        print(f"\n{title}:" if part else "", *part, sep="\n")
    print(
        f"{len(names)} cases: {len(new) - len(rounding)} differences in "
        f"{len({one.where.split(':')[0] for one in new if not one.is_rounding})} of them, {len(rounding)} by rounding, "
        f"{len(found) - len(new)} accepted"
    )
    return 1 if len(new) > len(rounding) else 0


def _in_case(before: Path, after: Path, name: str) -> list[Difference]:
    paths = before / f"{name}.json", after / f"{name}.json"
    one, other = (json.loads(path.read_text()) if path.exists() else MISSING for path in paths)
    return [part._replace(where=part.where.replace(":/", ":", 1)) for part in differences(one, other, f"{name}:")]
