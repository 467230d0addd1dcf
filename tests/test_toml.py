import os

import pytest

from drbo.errors import KnowledgeError
from drbo.knowledge import Knowledge
from drbo.toml import MAX_KEY_PARTS, MAX_TOML_BYTES, read_toml


def _file(tmp_path, text):
    path = tmp_path / "file.toml"
    path.write_text(text)
    return path


def test_values_come_back(tmp_path):
    text = 'names = ["x.1", "x.2", \'y.3\']  # a. comment. with. dots\n[fit]\nseed = 3\nshare = 0.5\n"a.b".c = "\\""\n'
    found = read_toml(_file(tmp_path, text))
    assert found == {"names": ["x.1", "x.2", "y.3"], "fit": {"seed": 3, "share": 0.5, "a.b": {"c": '"'}}}


def test_many_dotted_names_in_strings_and_many_decimals_are_welcome(tmp_path):
    text = f"names = {[f'a.b.c.{k}' for k in range(100)]}\nnumbers = {[k + 0.5 for k in range(100)]}\n"
    assert len(read_toml(_file(tmp_path, text))["names"]) == 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".".join("a" * 100_000) + " = 1", f"more than {MAX_KEY_PARTS} parts"),
        (" . ".join(['"a"'] * 100_000) + " = 1", f"more than {MAX_KEY_PARTS} parts"),
        ("x = {" + ".".join("b" * 50) + " = 1}", f"more than {MAX_KEY_PARTS} parts"),
        ("[" + ".".join("b" * 50) + "]", f"more than {MAX_KEY_PARTS} parts"),
        ("a = " + "[" * 100_000, "nested"),
        ("a = 0x" + "f" * 10_000, "1000 digits"),
        ("a = " + "9" * 10_000, "digits"),
        ('a = "' + r"\"" * 100_000, "Unterminated string|Illegal character"),
        ("a = 1\n" * 2, "overwrite"),
        ("#" * MAX_TOML_BYTES + "\n", f"more than {MAX_TOML_BYTES} bytes"),
    ],
)
def test_what_would_take_long_is_refused_at_once(tmp_path, text, message):
    path = _file(tmp_path, text)
    with pytest.raises(ValueError, match=message):
        read_toml(path)
    with pytest.raises(KnowledgeError, match="is not valid TOML"):
        Knowledge.from_toml(path)


def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    for name in ("pipe.toml", ".", "absent.toml"):
        with pytest.raises(OSError, match=r".*"):
            read_toml(tmp_path / name)
