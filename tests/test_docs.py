"""What the pages promise exists: examples run, commands have these options, named calls and tests are there."""

import ast
import re
import shlex
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from drbo import DrBO, Knowledge, Result
from drbo.cli import main

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "drbo"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")]
PAGES += [ROOT / "paper" / "paper.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _name(page: Path) -> str:
    """Return the name of a page: its place below docs, or that in the repository."""
    return str(page.relative_to(ROOT / "docs" if page.is_relative_to(ROOT / "docs") else ROOT))


TEXTS = {_name(page): page.read_text(encoding="utf-8") for page in PAGES}
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")

EXAMPLES = [
    (page, number, code)
    for page, text in TEXTS.items()
    for number, (kind, code) in enumerate(part for part in FENCE.findall(text) if part[0] == "python")
    if kind
]


def _typed(lines: list[str]) -> list[str]:
    """Return the commands among lines of a shell, without remarks."""
    parts = [part.strip() for line in lines for part in re.split(r"&&|\|", line.partition(" #")[0])]
    return [part for part in parts if re.match(r"drbo( -| [a-z]|$)", part)]


def _blocks(text: str) -> list[str]:
    blocks = [block for kind, block in FENCE.findall(text) if kind in ("", "console")]
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def _commands(text: str) -> list[str]:
    """Return what a page tells to type into a shell, in blocks and within sentences."""
    return _typed(_blocks(text) + SPAN.findall(FENCE.sub("", text)))


COMMANDS = sorted({(page, command) for page, text in TEXTS.items() for command in _commands(text)})


@pytest.fixture
def table(tmp_path, monkeypatch):
    """The table that pages call table.csv, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names = ["age", "sex", "dose", "weight", "outcome", "income", "rain", "wet"]
    pd.DataFrame(rng.normal(size=(200, len(names))), columns=names).to_csv("table.csv", index=False)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("page", "number", "code"), EXAMPLES, ids=[f"{page}-{number}" for page, number, _ in EXAMPLES])
def test_the_examples_of_the_docs_run(page, number, code):
    exec(compile(code, f"{page}, example {number}", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[f"{page}: {line}" for page, line in COMMANDS])
def test_commands_exist_with_their_options(page, line):
    words = shlex.split(line)[1:]
    if not words or words[0].startswith("-"):
        assert {"--version", "--verbose", "--help", "--debug"} >= set(words)
        return
    command = main.commands.get(words[0])
    assert command is not None, f"{page}: there is no command {words[0]!r}"
    with click.Context(command, info_name=words[0]) as context:
        command.make_parser(context).parse_args(words[1:])


@pytest.mark.parametrize("page", [page for page in TEXTS if page.startswith(("README", "guide/", "reference/"))])
def test_options_in_sentences_exist(page):
    """Options of other programs stand behind their commands."""
    if page != "reference/migration.md":  # it names those of earlier versions
        named = {word for span in SPAN.findall(FENCE.sub("", TEXTS[page])) if (word := span.split()[0])[:2] == "--"}
        known = {name for command in main.commands.values() for option in command.params for name in option.opts}
        assert sorted(named - known - {"--help"}) == []


@pytest.mark.usefixtures("table")
def test_the_commands_of_the_first_five_minutes_run():
    ran = _typed(_blocks(TEXTS["guide/getting-started.md"]))
    assert len(ran) >= 6
    for line in ran:
        done = CliRunner().invoke(main, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}: {done.output}"


@pytest.mark.usefixtures("table")
def test_the_page_about_own_scores_works_from_an_empty_folder(monkeypatch):
    """The class of the page is saved as the page says, and its commands are typed as they stand there."""
    code = next(code for kind, code in FENCE.findall(TEXTS["guide/own-score.md"]) if "class AbsoluteError" in code)
    Path("my_score.py").write_text(code.partition("\nx = ")[0], encoding="utf-8")
    pd.read_csv("table.csv").iloc[:60, :3].to_csv("table.csv", index=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    commands = [command for command in _commands(TEXTS["guide/own-score.md"]) if "my_score:" in command]
    assert [command.split()[1] for command in commands] == ["fit", "resume"]
    for command in commands:
        done = CliRunner().invoke(main, shlex.split(command)[1:])
        assert done.exit_code == 0, f"{command}: {done.output}"
    assert Path("run/report.html").exists()
    sys.modules.pop("my_score", None)


@cache
def _tests_of(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


#: What is named today; a page tells of names of earlier versions.
TODAY = [text for page, text in TEXTS.items() if page != "reference/migration.md"]
NAMED = sorted({span for text in TODAY for span in SPAN.findall(FENCE.sub("", text))})
PUBLIC = {"DrBO": DrBO, "Result": Result, "Knowledge": Knowledge}


@pytest.mark.parametrize("name", [name for name in NAMED if name.startswith("tests/")])
def test_named_tests_exist(name):
    path, _, test = name.partition("::")
    assert (ROOT / path).exists()
    assert not test or test in _tests_of(ROOT / path)


@pytest.mark.parametrize("name", [name for name in NAMED if re.fullmatch(r"(DrBO|Result|Knowledge)(\.\w+)?", name)])
def test_named_calls_exist(name):
    owner, _, attribute = name.partition(".")
    fitted = attribute.endswith("_") and f"{attribute} : " in (PUBLIC[owner].__doc__ or "")
    known = hasattr(PUBLIC[owner], attribute) or attribute in getattr(PUBLIC[owner], "__dataclass_fields__", {})
    assert not attribute or fitted or known


@pytest.mark.parametrize("name", [name for name in NAMED if re.fullmatch(r"drbo(\.\w+)+", name)])
def test_named_functions_exist(name):
    parts = name.split(".")
    paths = [ROOT / "src" / Path(*parts[:n]) for n in range(len(parts) + 1)]
    place = next(n for n in range(len(parts), 0, -1) if paths[n].is_dir() or paths[n].with_suffix(".py").is_file())
    found = import_module(".".join(parts[:place]))
    for part in parts[place:]:
        found = getattr(found, part)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_to_files(page):
    for target in LINK.findall(FENCE.sub("", TEXTS[_name(page)])):
        if not re.match(r"\w+:|(\.\./)*gallery/", target):  # the gallery is made with the site
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("custom score", "guide/own-score.md"),
        ("Excel", "guide/getting-started.md"),
        ("verbose", "guide/getting-started.md"),
        ("GPU", "guide/platforms.md"),
        ("categorical", "guide/scores.md"),
    ],
)
def test_a_search_of_the_site_finds_the_page_to_read(query, page):
    """A search finds the pages that have all of its words."""
    words = set(re.findall(r"[a-z]+", TEXTS[page].lower()))
    assert {word.rstrip("s") for word in query.lower().split()} <= {word.rstrip("s") for word in words}


def test_the_method_links_ten_files_at_most_in_the_order_in_which_they_run():
    """The steps of the package in the order of its imports, the pipeline that runs them first."""
    linked = re.findall(r"\(\.\./\.\./src/drbo/([\w/]+\.py)\)", TEXTS["developers/method.md"])
    assert 0 < len(linked) <= 10
    assert len(set(linked)) == len(linked)
    assert linked[0] == "pipeline.py"
    rooms = [name.split("/")[0] for name in linked[1:]]
    order = ["data", "scores", "constraints.py", "search", "claims", "result"]
    assert sorted(rooms, key=order.index) == rooms


def _is_there(name: str) -> bool:
    """Tell whether a name of the method is a file or folder of the package, or defined in it."""
    if "/" in name or name.endswith(".py"):
        return any(SOURCE.rglob(name)) or any(SOURCE.rglob(f"{name}.py"))
    if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file():
        return True
    defined = re.compile(rf"^\s*(?:class|def) {name}\b|^\s*{name}(?:: | = )", re.MULTILINE)
    return any(defined.search(path.read_text()) for path in SOURCE.rglob("*.py"))


def test_what_the_method_names_is_there():
    """Calls, options and values are checked with those of the other pages."""
    words = set(re.findall(r"`([A-Za-z_]\w*(?:[/.]\w+)*)`", TEXTS["developers/method.md"]))
    paths = {word for word in words if "." not in word or word.endswith(".py")}
    names = {word for word in paths if not word.startswith("src")} - {"bge"}
    assert {"search/bayes", "gathering.py", "MarkedGraph", "combine"} <= names
    assert sorted(name for name in names if not _is_there(name)) == []


def test_at_most_40_000_words_are_written_by_hand():
    """Generated tables do not count, nor pages that are generated whole, nor the paper, which has its own limit."""
    made = re.compile(r"<!-- ([\w ]+): start -->.*?<!-- \1: end -->", re.DOTALL)
    others = ("results/", "developers/faults.md", "paper/", "CODE_OF_CONDUCT.md")
    by_hand = [text for page, text in TEXTS.items() if not page.startswith(others)]
    assert sum(len(made.sub("", text).split()) for text in by_hand) <= 40_000
