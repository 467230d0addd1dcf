"""Names of nodes: unique, of non-empty string, as many as there are nodes."""

import pytest

from drbo.data.files.names import check_names
from drbo.errors import ResultError


def test_default_names():
    assert check_names(None, 3) == ("x0", "x1", "x2")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a", "b"], "3 nodes need 3 names, got 2"),
        (["a", "b", "a"], "unique, got 'a' twice"),
        (["a", "", "b"], "non-empty string"),
        (["a", 7, "b"], "must be a non-empty string"),
        (["a", "\ud800", "b"], "must be valid Unicode"),
    ],
)
def test_names_that_cannot_be_used(names, words):
    with pytest.raises(ResultError, match=words):
        check_names(names, 3)


def test_a_repeated_name_among_many_is_found_at_once():
    names = [f"n{k}" for k in range(300_000)]
    with pytest.raises(ResultError, match="got 'n7' twice"):
        check_names([*names, "n7"], 300_001)
    assert len(check_names(names, 300_000)) == 300_000
