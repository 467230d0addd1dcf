"""Statements: made, listed, taken back and read, whatever a browser sends."""

import json

import pytest

from drbo.errors import DrboError
from drbo.studio.said import Said

EDITS = [
    {"do": "drop", "name": "id"},
    {"do": "type", "name": "sex", "type": "category"},
    {"do": "na", "values": ["-99"]},
    {"do": "missing", "value": "drop"},
    {"do": "groups", "name": "site"},
    {"do": "tier", "name": "age", "to": 1},
    {"do": "tier", "name": "dose", "to": 2},
    {"do": "root", "name": "age"},
    {"do": "forbid", "a": "out", "b": "dose"},
    {"do": "require", "a": "dose", "b": "out"},
    {"do": "outcome", "name": "out"},
    {"do": "answer", "a": "age", "b": "out", "sure": 80},
]


def _said() -> Said:
    said = Said()
    for edit in EDITS:
        said = said.edited(edit)
    return said


def test_every_statement_is_listed_and_removed_by_its_own_edit():
    said = _said()
    assert len(said.statements()) == len(EDITS)
    for one in said.statements():
        left = said.edited(one["undo"])
        assert one["words"] not in [other["words"] for other in left.statements()]
    while said.statements():
        said = said.edited(said.statements()[-1]["undo"])
    assert said == Said()


def test_statements_are_saved_and_read():
    said = _said()
    assert Said.from_mapping(json.loads(json.dumps(said.to_mapping()))) == said
    assert said.knowledge.to_mapping() == {
        "forbidden": [["out", "dose"], ["out", "age"]], "required": [["dose", "out"]],
        "tiers": [["age"], ["dose"]], "roots": ["age"],
    }  # fmt: skip
    assert (said.design.groups, said.policy.missing, said.policy.types) == ("site", "drop", {"sex": "category"})


def test_a_column_that_is_left_out_takes_its_statements_along():
    said = _said().edited({"do": "drop", "name": "dose"})
    assert said.drop == ("id", "dose")
    assert (said.tiers, said.forbid, said.require) == ((("age",),), (), ())
    left = said.edited({"do": "drop", "name": "out"})
    assert (left.outcome, left.answers) == ("", ())
    assert said.edited({"do": "keep", "name": "dose"}).drop == ("id",)


def test_require_and_forbid_replace_each_other():
    said = Said().edited({"do": "forbid", "a": "a", "b": "b"}).edited({"do": "require", "a": "a", "b": "b"})
    assert (said.forbid, said.require) == ((), (("a", "b"),))


def test_an_answer_counts_unless_the_data_outvoted_it_and_one_about_the_same_pair_replaces_it():
    asked = {"do": "answer", "a": "a", "b": "b", "sure": 80}
    said = Said().edited(asked)
    assert said.knowledge.forbidden == (("b", "a"),)
    assert Said().edited(asked | {"used": False}).knowledge.forbidden == ()
    assert "80% sure" in said.statements()[0]["words"]
    turned = said.edited(asked | {"a": "b", "b": "a", "used": False})
    assert [one.words for one in turned.answers] == [
        "a is no direct cause of b: answered, 80% sure; outvoted by the data, and not used"
    ]


def test_randomised_columns_and_groups_are_refused_together():
    said = Said().edited({"do": "randomised", "name": "arm"})
    assert said.design.randomised == ("arm",)
    with pytest.raises(DrboError):
        said.edited({"do": "groups", "name": "site"})


def test_remedies_are_statements():
    remedies = {"drop": ["id"], "types": {"sex": "category"}, "na": ["*"], "missing": "impute"}
    said = Said().edited({"do": "tier", "name": "id", "to": 1}).solved(remedies)
    assert said == Said(drop=("id",), types=(("sex", "category"),), na=("*",), missing="impute")


def test_only_knowledge_leaves_the_table_as_it_is():
    assert _said().same_table(_said().edited({"do": "root", "name": "x"}))
    assert not _said().same_table(_said().edited({"do": "drop", "name": "x"}))


@pytest.mark.parametrize(
    "edit",
    [
        {}, {"do": "format"}, {"do": "forbid", "a": "x"}, {"do": "forbid", "a": "x", "b": ["y"]},
        {"do": "forbid", "a": "x", "b": "x"},
        {"do": "tier", "name": "x", "to": 9}, {"do": "tier", "name": "x", "to": True},
        {"do": "tier", "name": "", "to": 1},
        {"do": "root", "name": "x" * 2000}, {"do": "root", "name": "a\0b"}, {"do": "missing", "value": "guess"},
        {"do": "answer", "a": "x", "b": "y", "sure": 50}, {"do": "answer", "a": "x", "b": "y"},
        {"do": "answer", "a": "x", "b": "y", "sure": True}, {"do": "answer", "a": "x", "b": "y", "sure": 80, "used": 1},
        {"do": "na", "values": "x"}, {"do": "type", "name": "x", "type": 3},
    ],
)  # fmt: skip
def test_what_is_no_edit_is_refused(edit):
    with pytest.raises(DrboError):
        Said().edited(edit).knowledge  # noqa: B018


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"code": 1},
        {"forbid": [["a"]]},
        {"tiers": "ab"},
        {"missing": 3},
        {"require": [["a", "a"]]},
        {"answers": [["a", "b", 80]]},
    ],
)
def test_a_forged_state_is_refused(content):
    with pytest.raises(DrboError):
        Said.from_mapping(content)
