"""Every route, reader, claim, command and score is tried: a new one without its trials fails here."""

import re
import time
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from drbo import Design, DrBO, pipeline
from drbo.claims.claim import Context
from drbo.claims.registry import CLAIMS
from drbo.cli import main
from drbo.data.files.simulate import simulate
from drbo.data.reading.binary import READERS as GUARDED
from drbo.data.reading.read import KINDS
from drbo.deadline import Deadline, OutOfTimeError
from drbo.design import Missing
from drbo.errors import SettingsError
from drbo.scores.registry import SCORES
from drbo.search.strategy import ChosenRoute
from drbo.settings import PRESETS, Settings
from tests.faults import bombs, fuzz
from tests.faults.campaign import LEAST_BOMBS, REDUCED_ROUTES, SEARCHES
from tests.faults.limits import CASES, REDUCED, WAYS
from tests.faults.moments import ROUTES as ENDED
from tests.faults.repeats import tables, ways


def _names_a_column(name: str) -> bool:
    """Tell whether a parameter of a design names a column that is no variable, by itself."""
    try:
        return Design(**{name: "column"}).labels == ["column"]
    except SettingsError:
        return False


ROUTES = get_args(ChosenRoute)
#: Parameters of a design that name a column which is no variable: each is a way in which rows come about.
LABELS = [one.name for one in fields(Design) if _names_a_column(one.name)]
#: The name under which each source of tables is fuzzed and bombed.
FUZZED = {
    "drbo.data.reading.text:TextSource": "csv",
    "drbo.data.reading.parquet_groups:ParquetSource": "parquet",
    "drbo.data.reading.feather:FeatherSource": "feather",
    "drbo.data.reading.excel:ExcelSource": "excel",
    "drbo.data.reading.sqlite:SqliteSource": "sqlite",
    "drbo.data.reading.duck:DuckdbSource": "duckdb",
    "drbo.data.reading.json_lines:JsonLinesSource": "json lines",
    "drbo.data.reading.numpy_file:NumpySource": "npz",
}
#: A command that ends before a limit of a hundredth of a second has to do nothing but print.
QUICK = ("init", "schema", "datasets", "export", "simulate", "compare", "report", "lag", "mcp")


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_has_a_limit_and_is_killed(route: str) -> None:
    assert any(case.route.split(",")[0] == route for case in REDUCED if case.limit is not None)
    assert route in {_route_of(options) for options in SEARCHES.values()}
    assert route in REDUCED_ROUTES.values()


def _route_of(options: dict[str, Any]) -> str:
    found = Settings.preset(options.get("preset", "default")).with_(**options["settings"])
    return str(found.route)


@pytest.mark.parametrize("name", LABELS)
def test_a_way_in_which_rows_come_about_has_a_limit_is_ended_at_every_moment_and_is_repeated(name: str) -> None:
    option = f"--{name}"
    assert any(option in case.words for case in CASES if case.limit is not None)
    assert any(option in words for words in ENDED.values())
    assert name in ways()


def test_every_parameter_of_a_design_is_given_to_a_run_that_is_ended() -> None:
    said = " ".join(word for words in ENDED.values() for word in words).replace("-", "_")
    assert [one.name for one in fields(Design) if f"__{one.name}" not in said and f"{one.name}=" not in said] == []
    assert [one for one in get_args(Missing) if one != "error" and f"__missing {one}" not in said] == []


def test_a_series_is_killed() -> None:
    assert any(options["design"].has_time for options in SEARCHES.values() if "design" in options)


def test_cases_are_about_what_there_is() -> None:
    known = {*ROUTES, *WAYS}
    assert [case.route for case in CASES if re.split(r"[ ,]", case.route)[0] not in known] == []
    assert {PRESETS[name].get("route", "auto") for name in PRESETS} <= {*ROUTES, "auto"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.endings[0])
def test_a_reader_has_forged_files_and_bombs(kind: Any) -> None:
    name = FUZZED[kind.reader]
    assert name in fuzz.READERS
    assert len(bombs.BOMBS[name]) >= LEAST_BOMBS


def test_a_guarded_reader_belongs_to_a_source() -> None:
    first = Counter(name.split()[0] for name in GUARDED)
    assert set(first) <= set(FUZZED.values())


def test_every_score_is_repeated() -> None:
    assert set(tables()) == set(SCORES)


@pytest.fixture(scope="module")
def contexts() -> list[Context]:
    """What claims are made from: a table of skewed columns, and one of experiments."""
    found: list[Context] = []
    real = pipeline.run_claims

    def noted(claims: Any, context: Context, unasked: str) -> Any:
        found.append(context)
        return real(claims, context, unasked)

    rng = np.random.default_rng(0)
    skewed = simulate("6ER1", n=400, seed=3, noise="exponential").X
    bent = rng.uniform(-1, 1, size=(400, 3))
    bent[:, 1] = np.exp(1.5 * bent[:, 0]) + 0.3 * bent[:, 1]
    bent[:, 2] = bent[:, 1] ** 2 + 0.3 * bent[:, 2]
    runs = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc")).assign(run=np.repeat(["plain", "x", "y"], 100))
    runs["b"] += runs["a"]
    runs.loc[runs["run"] == "x", "a"] += 4
    design = Design(experiment="run", control="plain")
    series = np.cumsum(rng.normal(size=(200, 2)), axis=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "run_claims", noted)
        DrBO(score="bic-nv", random_state=0).fit(skewed)
        DrBO(score="bic-nv", exact=False, random_state=0).fit(skewed)
        DrBO(random_state=0).fit(bent)
        DrBO(design=design, random_state=0).fit(runs)
        DrBO(design=Design(randomised=["run"]), random_state=0).fit(runs)
        DrBO(design=Design(max_lag=2), score="bic-nv", random_state=0).fit(series)
    return found


@pytest.mark.parametrize("claim", [one for one in CLAIMS if not one.at_hand], ids=lambda claim: claim.name)
def test_a_claim_looks_at_the_deadline(claim: Any, contexts: list[Context]) -> None:
    asked = [one for one in contexts if claim.relevant(one) and not claim.too_much(one)]
    assert asked, "no table of this test is one that the claim applies to"
    ended = 0
    for context in asked:
        with Deadline() as deadline:
            deadline.stop()
            try:
                claim.run(context)
            except OutOfTimeError:
                ended += 1
    assert ended, "it was made although the time was over"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a fit of it."""
    place = tmp_path_factory.mktemp("commands")
    frame = pd.DataFrame(simulate("12ER2", n=400, seed=1).X).add_prefix("v")
    frame.to_csv(place / "table.csv", index=False)
    pd.DataFrame({"source": ["v0"], "target": ["v1"]}).to_csv(place / "truth.csv", index=False)
    done = CliRunner().invoke(main, ["fit", str(place / "table.csv"), "-o", str(place / "run"), "-q"])
    assert done.exit_code == 0, done.output
    return place


#: What each command is called with; RUN, TABLE and TRUTH stand for files, OUT for a place to write to.
CALLS = {
    "fit": "TABLE --set order_patience=100000",
    "resume": "RUN --max-evals 100000",
    "demo": "-o OUT",
    "check": "TABLE",
    "report": "RUN -o OUT.html",
    "export": "RUN OUT.dot",
    "judge": "TABLE RUN --as-is --permutations 1000000",
    "effects": "RUN TABLE",
    "next": "RUN TABLE",
    "score": "TABLE TRUTH",
    "compare": "RUN TRUTH",
    "moments": "TABLE -o OUT.npz",
    "lag": "TABLE --lags 1 -o OUT.csv",
    "simulate": "12ER2 -o OUT.csv",
    "datasets": "sachs",
    "init": "OUT.toml",
    "schema": "",
    "studio": "TABLE -o OUT --no-browser",
    "mcp": "",
}


@pytest.mark.parametrize("name", main.commands)
def test_a_command_ends_at_its_limit(name: str, folder: Path, tmp_path: Path) -> None:
    files = {"RUN": folder / "run", "TABLE": folder / "table.csv", "TRUTH": folder / "truth.csv", "OUT": tmp_path / "o"}
    words = [re.sub("|".join(files), lambda found: str(files[found[0]]), word) for word in CALLS[name].split()]
    start = time.monotonic()
    done = CliRunner().invoke(main, [name, *words, "--time-limit", "0.01s"])
    assert time.monotonic() - start < 60
    assert done.exit_code in (0, 2), done.output
    if name not in QUICK:
        assert re.search("(?i)time limit of 0.01 s|time ran out|takes too long", done.output), done.output
    assert "Traceback" not in done.output
