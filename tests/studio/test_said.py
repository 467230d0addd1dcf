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
        "forbidden": [["out", "dose"]], "required": [["dose", "out"]], "tiers": [["age"], ["dose"]], "roots": ["age"],
    }  # fmt: skip
    assert (said.design.groups, said.policy.missing, said.policy.types) == ("site", "drop", {"sex": "category"})


def test_a_column_that_is_left_out_takes_its_statements_along():
    said = _said().edited({"do": "drop", "name": "dose"})
    assert said.drop == ("id", "dose")
    assert (said.tiers, said.forbid, said.require) == ((("age",),), (), ())
    assert said.edited({"do": "keep", "name": "dose"}).drop == ("id",)


def test_require_and_forbid_replace_each_other():
    said = Said().edited({"do": "forbid", "a": "a", "b": "b"}).edited({"do": "require", "a": "a", "b": "b"})
    assert (said.forbid, said.require) == ((), (("a", "b"),))


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
        {"do": "na", "values": "x"}, {"do": "type", "name": "x", "type": 3},
    ],
)  # fmt: skip
def test_what_is_no_edit_is_refused(edit):
    with pytest.raises(DrboError):
        Said().edited(edit).knowledge  # noqa: B018


@pytest.mark.parametrize(
    "content", [[], {"code": 1}, {"forbid": [["a"]]}, {"tiers": "ab"}, {"missing": 3}, {"require": [["a", "a"]]}]
)
def test_a_forged_state_is_refused(content):
    with pytest.raises(DrboError):
        Said.from_mapping(content)
