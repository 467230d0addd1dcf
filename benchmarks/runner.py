"""One command for every benchmark.

    python -m benchmarks                        # what there is
    python -m benchmarks raw --seeds 0-4        # an experiment: runs the cells that have no row yet
    python -m benchmarks experiments            # every experiment
    python -m benchmarks judge --seeds 0-49     # a study: measures one question anew, or what this commit has no row of
    python -m benchmarks studies --quick        # every study
    python -m benchmarks report                 # writes the pages and figures of the docs from the committed rows
    python -m benchmarks golden --base HEAD     # what users see of many small runs, before a change and after it

Rows go to benchmarks/rows, those of ``--quick`` to build/bench-quick, and those of experiments to the folder run there.
Every row names machine and versions.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.gran_dag import Unavailable
from benchmarks.parameters import add_options
from benchmarks.rows import FOLDER, QUICK_FOLDER, Row, load, save, stamp
from benchmarks.studies import STUDIES
from benchmarks.studies.study import Cell, Study, parts_of

#: Longer texts of a row are not printed.
SHOWN = 60


def main(arguments: list[str]) -> None:
    """Run what is named first."""
    name, *words = arguments or [""]
    if name == "report":
        from benchmarks.reports import pages

        pages.write()
    elif name == "golden":
        from benchmarks.golden import command

        sys.exit(command.main(words))
    elif name == "studies":
        for study in STUDIES:
            for part in parts_of(import_module(f"benchmarks.studies.{study}")):
                run_study(study, [*words, "--part", part], several=True)
    elif name in STUDIES:
        run_study(name, words)
    else:
        run_experiments(name, words)


def run_experiments(name: str, words: list[str]) -> None:
    """Run the missing cells of an experiment, or of all."""
    from benchmarks.experiments import EXPERIMENTS, cells

    if name != "experiments" and name not in EXPERIMENTS:
        sys.exit(overview())
    options = _parse(name, cells.Request, cells.__doc__, words)
    quick, folder = options.pop("quick"), options.pop("folder")
    cells.run(EXPERIMENTS if name == "experiments" else [name], cells.Request(**options), quick, folder / "run")


def run_study(name: str, words: list[str], several: bool = False) -> None:
    """Measure what one part of a study asks, save its rows and print them as the docs show them."""
    part, study, options = read_study(name, words)
    quick, folder = options.pop("quick"), options.pop("folder")
    print(f"{name}, {part}".removesuffix(", run"), flush=True)
    if quick and study.quick is None:
        print("  left out: it has no quick run")
        return
    path = (folder / f"{study.file}.csv").absolute()
    try:
        for found in study.run(**options):
            if isinstance(found, Cell) and not found.settle(load(path)):
                continue
            row = found.row if isinstance(found, Cell) else found
            save(path, [{**row, **stamp(options.get("device", "cpu")), **row}], study.key)
            print(f"  {words_of(row)}", flush=True)
    except Unavailable as error:
        if not several:
            sys.exit(f"{name}: {error}")
        print(f"  left out: {error}")
        return
    from benchmarks.reports.pages import tables_of

    for table in tables_of(study.file):
        print(f"\n{table(load(path))}")


def read_study(name: str, words: list[str]) -> tuple[str, Study, dict[str, Any]]:
    """Return the part of a study that is asked for, and its options."""
    module = import_module(f"benchmarks.studies.{name}")
    parts, first = parts_of(module), argparse.ArgumentParser(add_help=False)
    first.add_argument("--part", choices=list(parts), default=next(iter(parts)), help="part of the study")
    study = parts[first.parse_known_args(words)[0].part]
    quick = study.quick if "--quick" in words else None
    options = _parse(name, study.run, module.__doc__, words, quick, [first])
    return options.pop("part"), study, options


def _parse(
    name: str,
    function: Callable[..., Any],
    documentation: str | None,
    words: list[str],
    quick: Mapping[str, Any] | None = None,
    parents: Sequence[argparse.ArgumentParser] = (),
) -> dict[str, Any]:
    """Return the options that were given, and the defaults of the others, some of which ``quick`` changes."""
    parser = argparse.ArgumentParser(
        f"python -m benchmarks {name}",
        description=documentation,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=parents,
    )
    parser.add_argument("--quick", action="store_true", help="a small slice, into build/bench-quick")
    parser.add_argument("--folder", type=Path, help="folder of the rows, if not benchmarks/rows")
    add_options(parser, function, quick or {})
    options = vars(parser.parse_args(words))
    options["folder"] = options["folder"] or (QUICK_FOLDER if options["quick"] else FOLDER)
    return options


def words_of(row: Row) -> str:
    """Return a row in one line, without long texts."""
    return ", ".join(f"{name} {value}" for name, value in row.items() if value != "" and len(str(value)) <= SHOWN)


def overview() -> str:
    """Return the names of everything that can be run."""
    from benchmarks.experiments import EXPERIMENTS

    lines = [__doc__ or "", "Experiments, methods by data sets:"]
    lines += [f"  {name:<20}{experiment.title}" for name, experiment in EXPERIMENTS.items()]
    lines += ["", "Studies; some have parts, see --help:"]
    lines += [f"  {name:<20}{words}" for name, words in STUDIES.items()]
    return "\n".join(lines)
