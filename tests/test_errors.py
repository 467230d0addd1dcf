import pickle

import pytest

from drbo import errors

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.DrboError)]


def test_a_hint_follows_the_message():
    error = errors.DrboError("what is wrong", hint="the way out")
    assert (error.message, error.hint) == ("what is wrong", "the way out")
    assert str(error) == "what is wrong (the way out)"
    assert str(errors.DrboError("what is wrong")) == "what is wrong"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_survives_the_way_back_from_a_worker(kind):
    for error in (kind("message", hint="hint"), kind("message")):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is kind
        assert (copy.message, copy.hint, str(copy)) == (error.message, error.hint, str(error))


@pytest.mark.parametrize(
    "kind",
    [errors.DataError, errors.SettingsError, errors.KnowledgeError, errors.ScoreError, errors.ResultError],
)
def test_errors_about_input_are_value_errors(kind):
    """scikit-learn and most callers expect a ValueError for input that cannot be used."""
    with pytest.raises(ValueError, match="message"):
        raise kind("message")


def test_all_errors_are_of_one_family():
    """Whoever catches DrboError catches everything that this package raises on purpose."""
    raised = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert raised == KINDS
    assert len(KINDS) > 5


def test_the_hint_for_a_name_is_the_nearest_one_or_the_list():
    assert errors.name_hint("hieght", ["weight", "height"]) == "did you mean 'height'?"
    assert errors.name_hint(7, ["dose", 12], "levels") == "the levels are dose, 12"
    assert len(errors.name_hint("?", [f"column {k}" for k in range(1_000)])) == 300
