"""The way of the data goes one way: every room may import from the rooms before it, never from those behind it."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import drbo
from drbo.graph.marks import KINDS
from tests.hidden import hidden_model
from tests.results import full_result

TESTS = Path(__file__).parent
SOURCE = Path(drbo.__file__).parent
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))

#: Rooms in the order of the data; rooms of one line do not know each other.
ROOMS = [
    ["errors", "toml", "deadline", "arrays"],
    ["machine", "checked", "design"],
    ["graph"],
    ["settings"],
    ["knowledge"],
    ["constraints"],
    ["data"],
    ["independence"],
    ["scores"],
    ["search"],
    ["choice"],
    ["claims"],
    ["result"],
    ["choices"],
    ["problem", "gathering"],
    ["pipeline", "refitting", "progress", "fitted", "table_check"],
    ["estimator"],
    ["testing", "judging"],
    ["studio"],
    ["cli"],
    ["__main__"],
]
PLACE = {room: place for place, rooms in enumerate(ROOMS) for room in rooms}
#: The same inside search: what a search is made of, the searches themselves, and what chooses and saves them.
SEARCH_ROOMS = [
    ["state", "known_orders", "subset_kernels"],
    ["outcome"],
    ["evaluation"],
    ["base", "stopping"],
    ["recombine", "parent_sets", "polish", "exact"],
    ["loop"],
    ["orders"],
    ["bayes"],
    ["paper"],
    ["ancestral"],
    ["strategy"],
    ["checkpoint"],
]
SEARCH_PLACE = {room: place for place, rooms in enumerate(SEARCH_ROOMS) for room in rooms}
#: Public names are imported when they are asked for, so the front door sees every room and no room needs it.
FRONT_DOOR = "__init__"
DOTTED_NAME = re.compile(r"drbo((\.\w+)+)(:\w+)?")

#: What the core must do without.
NOT_IN_THE_CORE = ["torch", "pandas", "sklearn", "networkx", "matplotlib", "rich", "click", "pyarrow", "polars"]
CORE = [
    "errors",
    "deadline",
    "settings",
    "graph",
    "graph.metrics",
    "knowledge",
    "constraints",
    "data.statistics.statistics",
    "data.files.simulate",
]
CORE_ROOMS = {"independence", "scores", "search", "choice", "claims"}
CORE += [".".join(path.with_suffix("").parts) for path in MODULES if path.parts[0] in CORE_ROOMS]


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """Every node of the syntax tree of a module, the module first."""
    return list(ast.walk(ast.parse((SOURCE / path).read_text(encoding="utf-8"))))


def _room(dotted: str) -> str:
    """The room of ``drbo.room.module``; the front door for ``drbo`` itself and what is defined in it."""
    first = dotted.removeprefix("drbo").lstrip(".").partition(".")[0]
    return first if first in PLACE else FRONT_DOOR


@cache
def _modules(path: Path) -> set[str]:
    """The dotted names that a module imports from, wherever it does so; strings such as 'drbo.scores.bge:BGe' count."""
    names = set()
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module
            inside = node.module in ("drbo", "drbo.search")  # their members may be rooms
            names |= {f"{node.module}.{alias.name}" for alias in node.names} if inside else {node.module}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and DOTTED_NAME.fullmatch(node.value):
            names.add(node.value.partition(":")[0])
    return {name for name in names if name.split(".")[0] == "drbo"}


def _imports(path: Path) -> set[str]:
    """The rooms that a module imports from."""
    return {_room(name) for name in _modules(path)}


def _search_rooms(path: Path) -> set[str]:
    """The rooms inside search that a module imports from."""
    return {name.split(".")[2] for name in _modules(path) if name.startswith("drbo.search.")}


def test_every_module_has_a_room():
    rooms = {path.parts[0].removesuffix(".py") for path in MODULES}
    assert rooms == set(PLACE) | {FRONT_DOOR}
    assert all(len(path.parts) <= 3 for path in MODULES)  # at most two levels of folders


def test_imports_point_one_way():
    wrong = []
    for path in MODULES:
        room = path.parts[0].removesuffix(".py")
        if room != FRONT_DOOR:
            behind = {other for other in _imports(path) - {room, FRONT_DOOR} if PLACE[other] >= PLACE[room]}
            wrong += [f"{path} is in front of {other} and must not import from there" for other in sorted(behind)]
    assert not wrong


def test_every_module_of_search_has_a_room():
    inside = [path for path in MODULES if path.parts[0] == "search" and path.name != "__init__.py"]
    assert {path.parts[1].removesuffix(".py") for path in inside} == set(SEARCH_PLACE)


def test_imports_inside_search_point_one_way():
    wrong = []
    for path in MODULES:
        room = path.parts[1].removesuffix(".py") if path.parts[0] == "search" else FRONT_DOOR
        if room != FRONT_DOOR:
            behind = {other for other in _search_rooms(path) - {room} if SEARCH_PLACE[other] >= SEARCH_PLACE[room]}
            wrong += [f"{path} is in front of {other} and must not import from there" for other in sorted(behind)]
    assert not wrong


def test_graphs_with_hidden_causes_have_no_rooms_of_their_own():
    """A kind of graph is a MarkedGraph in a Result: presenters have no twins for PAGs."""
    assert not [path for path in MODULES if path.name.startswith("pag_")]
    defined = {node.name for path in MODULES for node in _nodes(path) if isinstance(node, ast.ClassDef)}
    assert "HiddenResult" not in defined
    assert {"Result", "MarkedGraph"} <= defined


def _asks_for_a_kind(text: str) -> list[int]:
    """Return the lines where code asks whether a graph is of a kind that it names."""

    def named(node: ast.AST) -> bool:
        return any(isinstance(part, ast.Constant) and part.value in KINDS for part in ast.walk(node))

    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith(".kind") and named(node.comparators[0])
    ]


def test_a_kind_of_graph_is_known_by_its_reading_alone():
    """A new kind is a module with its reading, and a line in each of the tables of readings and of kinds."""
    others = [path for path in MODULES if path.parts[0] != "graph" and path.parts[:2] != ("result", "words")]
    found = {str(path): _asks_for_a_kind((SOURCE / path).read_text()) for path in others}
    assert {path: lines for path, lines in found.items() if lines} == {}
    assert _asks_for_a_kind('if a.graph.kind == "pag" or\\\n  b.kind in ("cpdag", "dag"): pass') == [1, 2]


def test_a_saved_result_opens_without_a_score(tmp_path):
    program = """
import sys
from drbo import Result
one = Result.load(sys.argv[1])
print(len(one.summary()) > 100, [name for name in sys.modules if name.startswith("drbo.scores")])
"""
    for made in (full_result(), hidden_model().result_):
        made.save(tmp_path)
        words = [sys.executable, "-c", program, str(tmp_path)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "True []"


def test_only_the_choice_of_the_search_opens_the_door_of_the_paper():
    known = {path.as_posix() for path in MODULES if "paper" in _search_rooms(path) and path.parts[1] != "paper"}
    assert known == {"search/strategy.py"}


@cache
def _concrete(room: str, *shared: str) -> set[str]:
    """The classes of a room that are built on others there, without those that all share."""
    nodes = [node for path in MODULES if path.as_posix().startswith(room) for node in _nodes(path)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    bases = {node.name: {ast.unparse(base) for base in node.bases} for node in classes}
    found = set(shared)
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found - {*shared}


#: The classes of scores that compute values of their own, and those of files that are read.
SCORE_CLASSES = _concrete("scores/", "Score")
SOURCE_CLASSES = _concrete("data/reading/", "Source", "FileSource", "JoinedSource")


def _named(classes: set[str], path: Path) -> set[str]:
    """The classes among some that a module names in its code, other than in docstrings."""
    names = {node.id for node in _nodes(path) if isinstance(node, ast.Name)}
    names |= {node.attr for node in _nodes(path) if isinstance(node, ast.Attribute)}
    imported = [node for node in _nodes(path) if isinstance(node, ast.ImportFrom)]
    return (names | {alias.name for node in imported for alias in node.names}) & classes


def test_scores_are_known_by_what_they_declare_and_not_by_their_class():
    """A new score is one file and one line in the table of names."""
    assert {"BicNV", "BGe", "BDeu", "RankSplines", "ByExperiment", "ExperimentBIC", "GpEV"} <= SCORE_CLASSES
    assert "BicNV" in _named(SCORE_CLASSES, Path("scores/bge.py"))
    outside = [path for path in MODULES if path.parts[0] != "scores"]
    assert {path.as_posix(): found for path in outside if (found := _named(SCORE_CLASSES, path))} == {}


def test_files_are_known_by_what_their_source_says_and_not_by_its_class():
    """A new kind of file is one module and one line in the table of kinds."""
    assert {"TextSource", "ParquetSource", "DuckdbSource", "ExcelSource"} <= SOURCE_CLASSES
    outside = [path for path in MODULES if path.parts[:2] != ("data", "reading")]
    assert {path.as_posix(): found for path in outside if (found := _named(SOURCE_CLASSES, path))} == {}


def test_a_claim_is_its_module_and_its_line_in_the_registry():
    """The one runner makes them: the way of a fit names those alone whose record a result shows by itself."""
    pipeline = _named(_concrete("claims/", "Claim", "ResidualClaim", "OfOtherGraphs"), Path("pipeline.py"))
    assert pipeline == {"EdgeMargins", "ProofClaim", "RowAudit"}


def test_a_default_fit_loads_neither_torch_nor_networkx_nor_the_room_of_the_paper():
    program = """
import sys, numpy
from drbo import DrBO
for route, budget in (("orders", None), ("surrogate", 12)):
    model = DrBO(score="bic-nv", max_evals=budget, random_state=0).fit(numpy.random.default_rng(0).normal(size=(60, 4)))
    assert model.result_.settings["route"] == route
print([name for name in sys.modules if name in ("torch", "networkx") or name.startswith("drbo.search.paper")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


#: Modules of ``data`` that commands ask, each for one thing: to open a source, to write a file, to lag a series, ...
MOST_DOORS = 10


def _imported_from_data(path: Path) -> list[str]:
    names = [alias.name for node in _nodes(path) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in _nodes(path) if isinstance(node, ast.ImportFrom)]
    return [name for name in names if name.startswith("drbo.data")]


def test_commands_leave_the_work_on_tables_to_the_rooms_behind_them():
    """They parse, call and print: what they compose belongs to ``DrBO``, ``drbo.check`` or the room that owns it."""
    found = {path.as_posix(): _imported_from_data(path) for path in MODULES if path.parts[0] == "cli"}
    assert sum(map(len, found.values())) <= MOST_DOORS, found
    assert _imported_from_data(Path("gathering.py"))


def test_the_reader_of_imports_sees_all_kinds():
    assert {"scores", "search", "result"} <= _imports(Path("estimator.py"))
    assert {"orders", "bayes", "paper"} <= _search_rooms(Path("search/strategy.py"))  # two inside a function
    assert "scores" in _imports(Path("scores/registry.py"))  # names of classes in a table of strings
    assert "estimator" in _imports(Path("cli/commands/fit.py"))  # inside a function
    assert "graph" in _imports(Path("result/compare.py"))  # from drbo.graph import metrics


def test_nothing_outside_the_package_is_imported_by_it():
    for path in MODULES:
        text = (SOURCE / path).read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) (tests|benchmarks)\b", text, re.MULTILINE), path


def _imports_torch(path: Path) -> bool:
    names = set()
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return any(name.partition(".")[0] == "torch" for name in names)


def test_torch_is_imported_by_the_scores_and_networks_that_compute_with_it():
    found = {path.as_posix() for path in MODULES if _imports_torch(path)}
    inside = {name for name in found if name.startswith(("scores/gp", "search/paper/"))}
    assert found - inside == {
        "machine/torch_device.py",
        "search/bayes/relevance.py",
        "search/strategy.py",
    }  # inside functions that need it


def test_the_core_needs_numpy_and_scipy_alone():
    with_torch = ("scores.gp", "search.paper.")
    names = sorted({f"drbo.{name}" for name in CORE if not name.startswith(with_torch)})
    program = f"""
import importlib, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {NOT_IN_THE_CORE!r}:
            raise ImportError(name + " is not part of the core")

sys.meta_path.insert(0, Blocker())
try:
    import pandas
except ImportError:
    pass
else:
    raise SystemExit("the blocker blocks nothing")
for name in {names!r}:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name + ": " + str(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(names) > 20


#: Every module that looks at a clock, and why that cannot change a result unless there is a time limit.
CLOCKS = {
    "deadline.py": "the one place where a time limit ends a run: never, where there is none",
    "estimator.py": "a resumed search counts the seconds before the break against its time limit",
    "pipeline.py": "how long the preparation took, which a time limit has to leave room for",
    "data/reading/guard_child.py": "the processor time that a reader may take, beyond which there is no table",
    "data/files/lock.py": "the age of a lock",
    "data/statistics/moments_pass.py": "decides when the sums so far are saved, not what they are",
    "data/statistics/statistics.py": "whether a time limit leaves time to sort a large table; a result says where not",
    "cli/__init__.py": "the start of the program, from which a time limit counts",
    "cli/commands/fit.py": "the date that a run was started",
    "cli/interrupts.py": "the start of the program, from which a time limit counts",
    "cli/run_folder.py": "the date of a run, in words",
    "cli/commands/resume.py": "the date that resamples were added to a run",
    "progress.py": "shows how far a search is",
    "claims/refits/resampling.py": "decides when finished resamples are saved, not which ones are made",
    "claims/answer/best_known.py": "the end of a proof: infinite without a time limit",
    "search/exact/useful_parents.py": "Effort ends by the clock with a time limit alone, else by counts",
    "search/checkpoint/saver.py": "decides when a search is saved",
    "search/stopping.py": "records seconds, and asks callbacks once a second whether to stop",
    "search/evaluation/dispatch.py": "executors that do not answer, which are an error",
    "search/evaluation/local_scores.py": "sizes of pieces, which change no value",
    "search/evaluation/remote.py": "sizes of pieces, which change no value, and scores that do not answer: an error",
}
CLOCK_MODULES = {"time", "timeit"}
CLOCK_CALLS = {"now", "utcnow", "today", "getloadavg", "elapsed_time"}


def _looks_at_a_clock(nodes: Iterable[ast.AST]) -> bool:
    for node in nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Attribute) and node.attr in CLOCK_CALLS:
            return True
        if CLOCK_MODULES & set(names):
            return True
    return False


def test_every_use_of_a_clock_is_listed_with_a_reason():
    """Effort is counted and only a time limit looks at the clock: a new use needs a reason why it changes no result."""
    found = {path.as_posix() for path in MODULES if _looks_at_a_clock(_nodes(path))}
    assert found == set(CLOCKS)


@pytest.mark.parametrize(
    "text",
    ["import time", "from time import perf_counter", "import timeit", "from datetime import date; date.today()",
     "def f():\n    import os, time", "import datetime\ndatetime.datetime.now()", "import os\nos.getloadavg()"],
)  # fmt: skip
def test_the_reader_of_clocks_sees_all_kinds(text):
    assert _looks_at_a_clock(ast.walk(ast.parse(text)))
    harmless = ast.parse("import datetime\nfrom drbo import times\nnow = datetime.time")
    assert not _looks_at_a_clock(ast.walk(harmless))


#: Attributes that hold sentences for people.
SENTENCES = {"message", "stopped", "words", "hint", "basis"}


def _decided_by_words(text: str) -> list[int]:
    """Return the lines where code looks for words in a sentence or at its beginning or end."""

    def is_sentence(node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id == "str" and ast.unparse(node.args[:1]) == "error"
        return isinstance(node, ast.Attribute) and node.attr in SENTENCES

    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            found += [node.lineno] * is_sentence(node.comparators[0])
        elif isinstance(node, ast.Compare):
            texts = [isinstance(side, ast.Constant) and isinstance(side.value, str) for side in node.comparators]
            found += [node.lineno] * (is_sentence(node.left) and any(texts))
        elif isinstance(node, ast.Attribute) and node.attr in ("startswith", "endswith"):
            found += [node.lineno] * is_sentence(node.value)
    return found


def test_nothing_is_decided_by_the_words_of_a_message():
    found = {str(path): _decided_by_words((SOURCE / path).read_text()) for path in MODULES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_the_reader_of_decisions_sees_all_kinds():
    kinds = ('"a" in x.message', 'x.stopped == "a"', 'x.words.startswith("a")', '"a" not in str(error)')
    assert [_decided_by_words(text) for text in kinds] == [[1]] * 4
    assert _decided_by_words('x.stop is Stop.BUDGET\nf"{error.message}"\n"a" in x.names') == []


def test_the_front_door_opens_without_the_rest():
    program = "import sys, drbo; print(drbo.__version__, 'torch' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [drbo.__version__, "False", "False"]


def test_public_names():
    """Others build on these names."""
    names = "DrBO Design DataPolicy Settings Knowledge Result Confidence Score Families Statistics check check_score "
    names += "read_table DrboError load"
    assert set(drbo.__all__) == {*names.split(), "__version__"}
    assert dir(drbo) == sorted(drbo.__all__)
    assert all(callable(getattr(drbo, name)) for name in names.split())
    with pytest.raises(AttributeError, match="module 'drbo' has no attribute 'Drbo'"):
        drbo.Drbo  # noqa: B018


MOST_LINES, MANY_LINES, LONGEST_FUNCTION = 400, 300, 60


def _lines(path: Path) -> int:
    return len((SOURCE / path).read_text(encoding="utf-8").splitlines())


def test_modules_and_functions_are_short_or_say_why_not():
    long = []
    for path in MODULES:
        (tree, *nodes), lines = _nodes(path), _lines(path)
        explained = "The module is long because" in (ast.get_docstring(tree) or "")
        if lines > (MOST_LINES if explained else MANY_LINES):
            long.append(f"{path} has {lines} lines")
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                words = ast.get_docstring(node) or ""
                length = node.end_lineno - node.lineno + 1 - len(words.splitlines())
                if length > LONGEST_FUNCTION and "The function is long because" not in words:
                    long.append(f"{path}: {node.name} has {length} lines")
    assert not long


def test_a_public_name_is_defined_once():
    """Classes and types of one name would mean two things."""
    found = Counter(
        node.name if isinstance(node, ast.ClassDef) else node.targets[0].id
        for path in MODULES
        for node in _nodes(path)[0].body
        if isinstance(node, ast.ClassDef)
        or (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_type(node.targets[0].id))
    )
    assert [name for name, count in found.items() if count > 1 and not name.startswith("_")] == []


def _is_type(name: str) -> bool:
    return name[:1].isupper() and not name.isupper()


MOST_MODULES, MOST_LEVELS = 20, 2


def test_folders_are_small_and_not_deep():
    folders = [path.parent for path in MODULES if not path.name.startswith("__")]
    assert {str(folder): count for folder, count in Counter(folders).items() if count > MOST_MODULES} == {}
    assert {str(folder) for folder in folders if len(folder.parts) > MOST_LEVELS} == set()


def test_types_of_arrays_are_named_in_one_module():
    again = [
        f"{path}: {name}"
        for path in MODULES
        for name in re.findall(r"^(Floats|Bools|Ints|Indices|Masks) = ", (SOURCE / path).read_text(), re.M)
        if path != Path("arrays.py")
    ]
    assert again == []


def _asks_for_parts(text: str) -> list[str]:
    """Return where code looks at which parts a table has, instead of asking it a question."""
    nodes = list(ast.walk(ast.parse(text)))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    parts = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr in ("totals", "sums")]
    compared = [ast.unparse(node) for node in nodes if isinstance(node, ast.Compare)]
    forks = [text for text in compared if re.search(r"\b(table|checked|whole|rows)\.experiments is", text)]
    return [ast.unparse(node) for node in parts if id(node) not in called] + forks


def test_only_statistics_know_which_parts_of_a_table_there_are():
    checks_sums = Path("data/checks/summed.py")
    rooms = [path for path in MODULES if path.parts[:2] != ("data", "statistics") and path != checks_sums]
    found = {str(path): _asks_for_parts((SOURCE / path).read_text()) for path in rooms}
    assert {path: places for path, places in found.items() if places} == {}
    forked = "if a.table.experiments is None or table.sums.n: source.sums()"
    assert _asks_for_parts(forked) == ["table.sums", "a.table.experiments is None"]


#: Where the tests of a package's own module are.
OF_PACKAGES = {"__init__.py": "test_architecture.py", "cli/__init__.py": "cli/test_program.py"}


def test_every_module_has_a_mirror_test():
    mirrors = [
        TESTS / OF_PACKAGES.get(path.as_posix(), path.with_name(f"test_{path.name}"))
        for path in MODULES
        if _lines(path) > 20
    ]
    missing = [str(mirror.relative_to(TESTS.parent)) for mirror in mirrors if not mirror.is_file()]
    assert not missing
