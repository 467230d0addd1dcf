"""The command and the code that repeat what is on the page."""

import shlex
from pathlib import Path

import pytest

from drbo import Knowledge
from drbo.cli.studio_words import fit_words, python_code
from drbo.studio.said import Said

SAID = Said(
    drop=("id", "a,b"), types=(("sex", "category"),), na=("-99",), missing="drop", groups="site",
    tiers=(("age",), ("dose",)), roots=("age",), forbid=(("dose", "age"),), require=(("age", "out"),),
)  # fmt: skip


def test_every_statement_is_an_option(tmp_path: Path) -> None:
    words = fit_words("t.csv", SAID, tmp_path)
    assert shlex.join(words) == (
        "drbo fit t.csv --drop 'id,\"a,b\"' --types sex=category --na -99 --groups site --missing drop "
        "--forbid 'dose->age' --require 'age->out' --tiers 'age;dose' --root age"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a,b", "a;b", "a->b", " a", "--force", "a "])
def test_awkward_names_go_into_a_file_that_later_edits_leave_alone(tmp_path: Path, name: str) -> None:
    said = Said(forbid=((name, "y"),))
    *words, option, path = fit_words("t.csv", said, tmp_path)
    assert (words, option) == (["drbo", "fit", "t.csv"], "--knowledge")
    assert Knowledge.from_toml(path) == said.knowledge
    other = fit_words("t.csv", said.edited({"do": "root", "name": "z"}), tmp_path)
    assert other[-1] != path
    assert fit_words("t.csv", said, tmp_path)[-1] == path


def test_the_code_is_python_and_says_the_same() -> None:
    names: dict[str, object] = {}
    code = python_code("t.csv", SAID).replace(".fit(table)", "")
    code = "\n".join(line for line in code.splitlines() if "= read_table(" not in line)
    exec(code, names)
    model = names["model"]
    assert model.knowledge == SAID.knowledge  # type: ignore[attr-defined]
    assert repr((model.policy, model.design)) == repr((SAID.policy, SAID.design))  # type: ignore[attr-defined]
    assert "drop=['id', 'a,b']" in python_code("t.csv", SAID)
    assert "Knowledge" not in python_code("t.csv", Said())
