"""Every row of docs/reference/bad-input.md is produced here, with exactly what is printed; so are other mistakes."""

import gzip
import re
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from drbo import DataPolicy, Design, DrBO, Knowledge, Settings
from drbo.cli.commands.fit import fit
from drbo.cli.options import config_values
from drbo.cli.run_folder import check_folder
from drbo.data.checks.check import check_table
from drbo.data.checks.lag import lagged
from drbo.data.reading.read import read_table
from drbo.errors import DrboError
from drbo.result.files.plan import Plan
from drbo.result.files.run_folder import CHECKPOINT
from drbo.result.judge import judge
from tests.results import make_result

DOCUMENT = Path(__file__).parents[1] / "docs" / "reference" / "bad-input.md"


SIZES = [1.81, 1.65, 1.7, 1.92, 1.59, 1.77, 1.83]


class Case(NamedTuple):
    what: str  # first cell of the row in the document
    make: Callable[[], Any]
    message: str  # a part of the message that must be there whatever the rest
    hint: str  # a part of the hint


def _file(name: str, content: bytes | str, **options: Any) -> Callable[[], Any]:
    """Return a call that writes the file into the current folder and reads it."""

    def make() -> Any:
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(name, **options)

    return make


def _arrays(name: str, **arrays: Any) -> Callable[[], Any]:
    def make() -> Any:
        if name.endswith(".npz"):
            np.savez(name, **arrays)
        else:
            np.save(name, arrays["X"], allow_pickle=True)
        return read_table(name)

    return make


def _directory() -> Any:
    Path("tables").mkdir()
    return read_table("tables")


def _table(**columns: Any) -> Callable[[], Any]:
    """Return a call that checks 6 good rows with these columns added or put in place of the good ones."""
    rng = np.random.default_rng(0)
    good = {"height": rng.normal(size=6), "weight": rng.normal(size=6)}
    return lambda: check_table(pd.DataFrame(good | columns))


def _data(data: Any, **options: Any) -> Callable[[], Any]:
    return lambda: check_table(data, **options)


def _fit(
    settings: dict[str, Any] | None = None, knowledge: dict[str, Any] | None = None, start: Any = None, **options: Any
) -> Any:
    """Return a call that fits 6 good rows with these options."""

    def make() -> Any:
        good = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 2)), columns=["height", "weight"])
        given = {} if settings is None else {"settings": Settings().with_(**settings)}
        known = {} if knowledge is None else {"knowledge": Knowledge.from_mapping(knowledge)}
        return DrBO(**given, **known, **options).fit(good, start=start)

    return make


def _wide_exact() -> Any:
    return DrBO(score="splines", exact=True).fit(np.random.default_rng(0).normal(size=(40, 24)))


def _misfit(columns: dict[str, Any] | None = None, n: int = 6, **options: Any) -> Callable[[], Any]:
    """Return a call that fits n good rows with these columns added."""

    def make() -> Any:
        good = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 2)), columns=["height", "weight"])
        return DrBO(max_evals=1, random_state=0, **options).fit(good.assign(**(columns or {})))

    return make


def _answers(name: str, values: list[float], **options: Any) -> Callable[[], Any]:
    """Return a call that fits a column of two values and this one."""
    frame = pd.DataFrame({"answer": [0, 1, 0, 1, 0, 1, 1], name: values})
    return lambda: DrBO(max_evals=1, random_state=0, **options).fit(frame)


def _bootstrap(**options: Any) -> Callable[[], Any]:
    """Return a call that resamples 7 rows of 2 columns."""
    return lambda: DrBO(score="bic-nv", random_state=0).bootstrap(
        pd.DataFrame({"height": SIZES, "weight": SIZES[::-1]}), **options
    )


def _judge(**options: Any) -> Callable[[], Any]:
    """Return a call that judges a graph of two nodes on 7 rows."""
    table = pd.DataFrame({"height": SIZES, "weight": SIZES[::-1]})
    return lambda: judge([[0, 1], [0, 0]], table, score="bic-nv", **options)


def _grouped(groups: Any, **options: Any) -> Callable[[], Any]:
    """Return a call that fits 8 rows with these groups."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(8, 2)), columns=["height", "weight"])
    table["sex"], table["person"] = [0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 2, 2, 3, 3, 4, 4]
    return lambda: DrBO(design=Design(groups=groups)).fit(table, **options)


def _weighted(weights: list[float], score: str = "bic-nv") -> Callable[[], Any]:
    """Return a call that fits 7 rows with these weights."""
    answers = {"height": [0, 1, 0, 1, 0, 1, 1], "weight": [1, 1, 0, 0, 1, 0, 1]}
    table = pd.DataFrame(
        answers if score == "bdeu" else {"height": SIZES, "weight": [2.0, 1.0, 4.0, 3.0, 7.0, 5.0, 6.0]}
    )
    return lambda: DrBO(score=score, random_state=0).fit(table, sample_weight=weights)


def _effects(source: str, target: str) -> Callable[[], Any]:
    """Return a call that asks for an effect in a graph of two nodes."""
    table = pd.DataFrame({"height": SIZES, "weight": SIZES[::-1]})
    return lambda: (
        DrBO(score="bic-nv", random_state=0, policy=DataPolicy(on_collinear="keep"))
        .fit(table)
        .result_.effects(table, source, target)
    )


_HOLES = pd.DataFrame({"height": [1.8, 1.6, 1.7, 1.9, 1.5, 1.75], "weight": [70.0, None, None, 95.0, None, None]})


def _holes(policy: str, score: str = "auto", prune: str = "auto", **columns: Any) -> Callable[[], Any]:
    """Return a call that fits a table with missing weights, and these columns."""
    return lambda: DrBO(score=score, prune=prune, policy=DataPolicy(missing=policy), random_state=0).fit(
        _HOLES.assign(**columns)
    )


def _config(text: str) -> Callable[[], Any]:
    """Return a call that reads a configuration."""

    def make() -> Any:
        Path("run.toml").write_text(text)
        return config_values(fit, Path("run.toml"))

    return make


def _zeros() -> bytes:
    """A packed text of 70 MB."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(b"0,0\n" * 250_000) for _ in range(70)), packer.flush()])


def _lists() -> Any:
    pd.DataFrame({"a": [1, 2], "l": [[1], [2]]}).to_parquet("t.parquet")
    return read_table("t.parquet")


def _generated() -> Any:
    with closing(sqlite3.connect("t.db")) as link:
        link.execute("CREATE TABLE t (a REAL, b AS (a + a))")
    return read_table("t.db")


def _code_in_a_config() -> Any:
    Path("run.toml").write_text("[fit]\nscore = 'my:Score'")
    return fit.make_context("fit", ["t.csv", "--config", "run.toml"])


def _code_in_a_result() -> Any:
    return DrBO.like(make_result([[0]], score_name="my:Score"))


def _begun() -> Any:
    Path("run").mkdir()
    Plan(("drbo", "fit", "t.csv"), "2025-01-01 12:00:00").save(Path("run"))
    Path("run", CHECKPOINT).mkdir()
    Path("run", CHECKPOINT, "checkpoint.json").touch()
    return check_folder(Path("run"))


def _strange() -> Any:
    Path("run").mkdir()
    Path("run/notes.txt").touch()
    return check_folder(Path("run"))


NUMBERS = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
OTHERS = np.array([2.0, 7.0, 1.0, 8.0, 2.0, 8.0])
CSV = "height,weight\n1.8,75\n1.6,60\n1.7,68\n"

CASES = [
    # files
    Case("missing file", lambda: read_table("table.csv"), "'table.csv' does not exist", "spelling"),
    Case("directory instead of a file", _directory, "'tables' is a directory", "name of a file"),
    Case("empty file", _file("table.csv", ""), "'table.csv' is empty", "column names"),
    Case("column names without rows", _file("table.csv", "height,weight\n"), "no rows", "at least 3 rows"),
    Case(
        "text that is not UTF-8",
        _file("table.csv", "größe,b\n1,2\n".encode() + b"\xe9,1\n"),
        "offset 14 (line 3)",
        "encoding='cp1252'",
    ),
    Case("line with too many cells", _file("table.csv", CSV + "1.9,80,1\n"), "line 5: 3 cells", "same number of cells"),
    Case("line with too few cells", _file("table.csv", CSV + "1.9\n"), "line 5: 1 cells", "same number of cells"),
    Case("same name twice in the header", _file("table.csv", "a,b,a\n1,2,3\n"), "name 'a'", "a unique name"),
    Case("file without column names", _file("table.csv", "1.8,75\n1.6,60\n"), "numbers: 1.8, 75", "header=False"),
    Case("column without a name", _file("table.csv", ",a,b\n0,1,2\n1,2,3\n"), "column 1 of 3", "index=False"),
    Case("wrong separator", _file("table.txt", "a:b\n1:2\n3:4\n"), "only one column, 'a:b'", "separator=..."),
    Case("separator of two characters", _file("t.csv", CSV, separator="::"), "got '::'", "for example ';'"),
    Case("unknown file type", _file("table.doc", "x"), "unknown extension", "save the table as CSV"),
    Case(
        "incomplete gzip file",
        _file("t.csv.gz", gzip.compress(CSV.encode())[:-12]),
        "gzip",
        "download or compress it again",
    ),
    Case("incomplete Parquet file", _file("table.parquet", "PAR1"), "'table.parquet'", "write it again"),
    Case("pickled objects", _arrays("t.npy", X=np.array([[{}, 1]], dtype=object)), "pickled", "numpy.savez"),
    Case("two tables in one file", _arrays("t.npz", A=np.eye(2), B=np.eye(2)), "2 arrays", "under the name X"),
    Case("decompression bomb", _file("t.csv.gz", _zeros()), "over 100 times its size", "max_input=..."),
    Case("table over the size limit", _file("t.csv", CSV, max_input=20), "needs more than 20 bytes", "max_input=..."),
    Case("too many columns", _file("t.csv", "a" + ",b" * 2**14), "has 16385 columns", "fewer columns"),
    Case("lists in the cells of a Parquet file", _lists, "column 'l' contains list", "split it into several columns"),
    Case("generated column in a database", _generated, "generated by a formula", "store its values"),
    # what is passed as data
    Case("data that is not a table", _data({"a": [1, 2]}), "got dict", "pandas, polars or pyarrow"),
    Case("1-D array", _data(np.arange(5.0)), "Expected 2D array, got 1D array instead", "Reshape your data"),
    Case("3-D array", _data(np.zeros((4, 3, 2))), "dim 3", "rows and columns"),
    Case("sparse matrix", _data(sparse.csr_matrix(np.eye(4))), "sparse", "toarray()"),
    Case("complex numbers", _data(np.eye(4) * 1j), "Complex data not supported: column 'x0'", "real"),
    Case("rows of different length", _data([[1, 2, 3], [4, 5]]), "row 1 has 2 cells", "same number of cells"),
    Case("too few rows", _data(np.eye(2)), "2 sample(s)", "at least 3 rows"),
    Case("too few columns", _data(np.ones((5, 1))), "1 feature(s)", "2 columns"),
    Case(
        "same name twice in a frame",
        _data(pd.DataFrame(np.eye(4), columns=["a", "b", "a", "c"])),
        "name 'a' is used more than once (columns 1, 3)",
        "a unique name",
    ),
    # what is in the columns
    Case("missing values", _table(age=[1, None, 3, 4, None, 6]), "column 'age' (2 of 6 rows)", 'missing="drop"'),
    Case("column without any value", _data(_HOLES.assign(age=np.nan), missing="keep"), "no value in any row", "drop"),
    Case("too few complete rows", _data(_HOLES, missing="drop"), "2 of 6 rows have no missing value", '"impute"'),
    Case("infinite value", _table(age=[1, 2, np.inf, 4, 5, 6]), "column 'age', row 2", "drop the row"),
    Case("huge value", _table(age=[1, 2, 3, 1e308, 5, 6]), "column 'age' contains 1e+308 in row 3", "rescale"),
    Case("tiny differences", _table(age=NUMBERS * 1e-200), "column 'age' varies by only 8e-200", "rescale"),
    Case("constant column", _table(age=[7] * 6), "column 'age' is constant", 'on_constant="drop"'),
    Case(
        "same column twice", _table(a=NUMBERS, b=NUMBERS), "column 'b' is a copy of column 'a'", 'on_collinear="drop"'
    ),
    Case(
        "same column in different units",
        _table(cm=NUMBERS, mm=NUMBERS * 10 + 2),
        "10 * 'cm' + 2",
        'on_collinear="keep"',
    ),
    Case(
        "sum of other columns",
        _table(a=NUMBERS, b=OTHERS, total=NUMBERS + OTHERS),
        "column 'total' is an exact linear combination of 'a', 'b'",
        'on_collinear="drop"',
    ),
    Case("same groups twice", _table(a=list("xyxyxz"), b=[1, 2, 1, 2, 1, 3]), "same groups", 'on_collinear="drop"'),
    Case("numbers stored as text", _table(age=list("123456")), "column 'age'", "astype(float)"),
    Case("decimal commas", _table(age=["1,5", "2,5", "3", "4,1", "5", "6"]), "'1,5' in row 0", "decimal=','"),
    Case(
        "invalid number",
        _table(age=["1", "2", "1e5x", "4", "5", "6"]),
        "row 2 contains '1e5x'",
        "astype('category')",
    ),
    Case("identifiers or free text", _table(person=list("abcdef")), "column 'person' has 6", "fewer groups"),
    Case("dates", _table(day=pd.date_range("2024-01-01", periods=6)), "column 'day' contains dates", "days since"),
    Case("dates stored as text", _table(day=["2024-01-01", "2024-01-02"] * 3), "'2024-01-01'", "days since"),
    Case("cells of an unsupported type", _table(age=[{"x": 1}, 2, 3, 4, 5, 6]), "column 'age', row 0", "drop it"),
    # options of the check
    Case("unknown policy", lambda: DataPolicy(on_constant="skip"), "got 'skip'", "the default"),
    # options of the search
    Case("setting out of range", _fit(settings={"dropout": 1.5}), "dropout must be in [0, 1), got 1.5", "0.1"),
    Case("unknown setting", _fit(settings={"dropuot": 0.3}), "unknown setting dropuot", "help(drbo.Settings)"),
    Case("no evaluations", _fit(max_evals=0), "max_evals must be at least 1, got 0", "DAG evaluations"),
    Case("fraction of an evaluation", _fit(max_evals=10.5), "max_evals must be a whole number", "DAG evaluations"),
    Case("negative time limit", _fit(time_limit=-60), "time_limit must be at least 0, got -60", "seconds"),
    Case("unknown score", _fit(score="bic"), "score must be one of", "did you mean bic-nv"),
    Case(
        "score that cannot be imported", _fit(score="my_scores:Best"), "No module named 'my_scores'", "check the name"
    ),
    Case("unknown option of a score", _fit(score="bic-nv", score_options={"penality": 2}), "penality", "penalty"),
    Case("negative penalty", _fit(score_options={"penalty": -1}), "penalty must be a number >= 0", "fewer edges"),
    Case("unknown preset", _fit(preset="papre"), "preset must be one of default, paper", "'default'"),
    Case("unknown pruning method", _fit(prune="strong"), "prune must be one of auto, none", "'auto'"),
    Case("unknown device", _fit(device="gpu"), "device must be auto, cpu or cuda, got 'gpu'", "'auto'"),
    Case(
        "unknown policy for missing values",
        lambda: DataPolicy(missing="mean"),
        "error, drop, em, impute, got 'mean'",
        "'error'",
    ),
    Case("one imputation", lambda: DataPolicy(imputations=1), "at least 2, got 1", "10"),
    Case("negative random state", _fit(random_state=-1), "random_state must be at least 0, got -1", "0, 1, 2"),
    Case("exact with too many columns", _wide_exact, "24 columns", "exact='auto'"),
    Case(
        "start graph with a cycle",
        _fit(start=np.ones((2, 2)) - np.eye(2)),
        "start: the graph has a cycle",
        "remove or reverse",
    ),
    Case("no resamples", _bootstrap(n=0), "at least 1, got 0", "try 100"),
    Case("unknown resampling", _bootstrap(kind="jackknife"), "got 'jackknife'", "'bootstrap'"),
    Case(
        "blocks longer than the table", _bootstrap(kind="block", block=99), "block must be in 1..7", "a smaller value"
    ),
    Case("judging on other columns", _judge(names=["height", "age"]), "no column 'age'", "height, weight"),
    Case("judging with no random graph", _judge(n_random=0), "n_random must be", "try 100"),
    Case("judging with an unknown test", _judge(test="t"), "got 't'", "auto"),
    Case("too few weights", _weighted([1] * 6), "each of 7 rows, got shape (6,)", "per row"),
    Case("negative weight", _weighted([1, 1, -1, 1, 1, 1, 1]), "got -1 in row 2", "weight to 0"),
    Case("groups by a column that is not there", _grouped("patient"), "no column 'patient'", "person"),
    Case("too few labels of groups", _grouped([1, 2]), "one label for each of 8 rows", "name the column"),
    Case("a row without a group", _grouped([1, 1, 2, 2, 3, 3, 4, None]), "no label in 1 of 8 rows", "of its own"),
    Case("groups of one row", _grouped(list(range(8))), "every group has one row", "omit the groups"),
    Case("a single group", _grouped([1] * 8), "in a single group", "omit the groups"),
    Case("a column that is constant within groups", _grouped("person"), "never changes within a group", "drop"),
    Case(
        "groups and weights", _grouped("person", sample_weight=[2] * 8), "cannot be combined with", "omit the weights"
    ),
    Case("weights that sum to 1", _weighted([1 / 7] * 7), "sum to 1, but a weight is a number of rows", "multiply"),
    Case("one seed", lambda: DrBO().stability(np.eye(4), seeds=1), "at least 2, got 1", "10"),
    Case("zero lags", lambda: lagged(pd.DataFrame({"a": SIZES}), lags=0), "at least 1, got 0", "1 or 2"),
    Case(
        "missing time column",
        lambda: lagged(pd.DataFrame({"a": SIZES}), lags=1, time="day"),
        "no column 'day' with times",
        "the columns are a",
    ),
    Case("effect of an unknown column", _effects("height", "age"), "no variable 'age'", "height, weight"),
    Case(
        "effect of a column on itself", _effects("height", "height"), "both the source and the target", "two variables"
    ),
    Case("missing clusters", _bootstrap(kind="cluster"), "requires clusters", "cluster of every row"),
    # configuration files
    Case("misspelt option", _config("[fit]\nseeed = 3"), "unknown option 'seeed' in [fit]", "did you mean seed"),
    Case("option outside of any table", _config("seed = 3"), "'seed' is outside of any table", "write [fit] above"),
    Case("unknown table", _config("[fits]\nseed = 3"), "unknown table [fits]", "fit, knowledge, settings, read"),
    Case("file that is not TOML", _config("[fit\nseed"), "is not valid TOML", "drbo init"),
    Case("date instead of a duration", _config("[fit]\ntime-limit = 2024-01-01"), "got 2024-01-01", "drbo init"),
    Case("number instead of a boolean", _config("[fit]\nhidden = 1"), "true or false, got 1", "without quotes"),
    Case(
        "option for the command line only", _config("[fit]\nworkers = 'a:1'"), "only on the command line", "--workers"
    ),
    Case(
        "code named by a configuration file",
        _code_in_a_config,
        "does not load code that only a file names",
        "--score my:Score",
    ),
    # runs
    Case("code named by a result", _code_in_a_result, "does not load code that only a file names", "score='my:Score'"),
    Case("folder of an unfinished run", _begun, "unfinished run, started by 'drbo fit t.csv'", "drbo resume run"),
    Case("folder with other files", _strange, "does not contain a drbo result: notes.txt", "--force"),
    # scores and pruners that do not fit the data
    Case(
        "logistic on more than two values",
        _answers("grade", [1, 2, 3, 1, 2, 3, 1], score="logistic"),
        "column 'grade' has 3 distinct",
        "'auto'",
    ),
    Case(
        "BDeu on continuous columns",
        _answers("height", SIZES, score="bdeu"),
        "is continuous",
        "bin the column",
    ),
    Case(
        "multinomial BIC on continuous columns",
        _answers("height", SIZES, score="bic-discrete"),
        "is continuous",
        "bin the column",
    ),
    Case("GP with 20,000 rows", _misfit(n=20_000, score="gp"), "at most 4000 rows, got 20000", "score='splines'"),
    Case("the paper's GP with 20,000 rows", _misfit(n=20_000, preset="paper-gp"), "gp-nv accepts at most", "sample"),
    Case("linear score on text", _misfit({"group": list("aabbab")}, score="bic-nv"), "'group' is categorical", "mixed"),
    Case("splines on text", _misfit({"group": list("aabbab")}, score="splines"), "splines requires numbers", "mixed"),
    Case("BGe on text", _misfit({"group": list("aabbab")}, score="bge"), "bge requires numbers", "mixed"),
    Case("kernel test with 20,000 rows", _misfit(n=20_000, prune="kci"), "at most 5000 rows", "prune='cam'"),
    Case("F test on text", _misfit({"group": list("abcabc")}, prune="f-test"), "3 levels, but prune", "prune='auto'"),
    Case(
        "weights for a nonlinear score",
        _weighted([1, 2, 2, 2, 2, 2, 2], score="splines"),
        "does not support sample weights",
        "bic-nv",
    ),
    Case(
        "fractional weights for a score that counts rows",
        _weighted([1.5] * 7, "bdeu"),
        "whole numbers, got 1.5",
        "number of times",
    ),
    Case("EM for a column of text", _holes("em", group=list("aabbab")), "'group' is categorical", 'missing="impute"'),
    Case(
        "EM for a nonlinear score", _holes("em", score="splines"), "'splines' requires complete rows", 'score="bic-nv"'
    ),
    Case("EM with a kernel test", _holes("em", prune="kci"), "requires complete rows", "prune='auto'"),
    Case(
        "EM for columns never observed together",
        _holes("em", other=[None, 1.0, 2.0, None, 3.0, 1.5]),
        "'weight' and 'other' are never observed",
        "drop one",
    ),
    # knowledge
    Case("unknown variable in the knowledge", _fit(knowledge={"roots": ["hieght"]}), "did you mean 'height'", "weight"),
    Case(
        "contradictory knowledge",
        _fit(knowledge={"required": ["height -> weight"], "roots": ["weight"]}),
        "'height -> weight' is required but 'weight' is a root",
        "drop or change one",
    ),
]


#: First cells of the rows of the document.
DOCUMENTED = re.findall(r"^\| ([^|`]+) \| `", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)


def _row(what: str, error: DrboError) -> str:
    return f"| {what} | `{error.message}` | `{error.hint}` |"


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.what, marks=[pytest.mark.torch] * ("GP" in case.what)) for case in CASES]
)
def test_bad_input_gets_the_documented_error(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DrboError) as caught:
        case.make()
    assert case.message in caught.value.message
    assert case.hint in (caught.value.hint or "")
    if case.what in DOCUMENTED:
        assert _row(case.what, caught.value) in DOCUMENT.read_text(encoding="utf-8").splitlines()


def test_every_documented_row_has_a_case() -> None:
    assert set(DOCUMENTED) <= {case.what for case in CASES}
    assert len(DOCUMENTED) > 40
