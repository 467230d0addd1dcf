"""Words for the shell come back from it as they were."""

import subprocess

import pytest

from drbo.result.words.plain_text import quoted

WORDS = ["plain", "two words", "it's", "a\nb", "caf\udce9", "\u202eright", "back\\slash\t", "$x `y`", ""]


@pytest.mark.parametrize("word", WORDS)
def test_words_survive_the_shell(word: str) -> None:
    line = quoted(word)
    assert line.isprintable()
    command = ["bash", "-c", f"printf %s {line}"]
    done = subprocess.run(command, capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout == word.encode(errors="surrogateescape")
