import json

import numpy as np
import pytest

from drbo import DataPolicy, Design, DrBO
from drbo.errors import CheckpointError
from drbo.search.checkpoint.parameters import arguments_of, check_parameters, plain_parameters
from drbo.search.state import Fields
from drbo.settings import Settings

OTHERS = {"settings": Settings().to_dict(), "random_state": 3}


def test_plain_parameters_are_those_of_a_file():
    options = {"penalty": 2.0, "edge_prior": np.eye(2)}
    given = DrBO(score="bge", score_options=options).get_params(deep=False)
    plain = plain_parameters(given, np.triu(np.ones((2, 2)), 1))
    assert plain["score"] == "bge"
    assert plain["score_options"] == {"penalty": 2.0, "edge_prior": [[1.0, 0.0], [0.0, 1.0]]}
    assert plain["start"] == [[0, 1]]
    assert plain["knowledge"] == {}
    assert "random_state" not in plain
    for groups, expected in ((None, None), (False, []), ("id", ["id"]), (["b", "a", "b"], [1, 0, 1])):
        assert plain_parameters(given | {"design": Design(groups=groups)})["design"]["groups"] == expected
    for weights, expected in ((None, None), ("w", ["w"]), (np.array([1, 2]), [1.0, 2.0])):
        assert plain_parameters(given | {"design": Design(weights=weights)})["design"]["weights"] == expected


def _saved(**parameters):
    """Parameters as a file returns them."""
    return json.loads(json.dumps(plain_parameters(DrBO(**parameters).get_params(deep=False)) | OTHERS))


def _read(plain, **changes):
    check_parameters(Fields.plain({"p": plain}, "file").part("p"))
    return arguments_of(plain, changes)


@pytest.mark.parametrize(
    "design",
    [
        Design(groups="id", weights="w"),
        Design(groups=False),
        Design(experiment="run", control="plain", targets={"hot": {"a": "hard"}}),
        Design(groups=[1, 0, 1], weights=[0.1, 2.0, 1 / 3]),
    ],
    ids=repr,
)
def test_design_and_policy_come_back(design):
    policy = DataPolicy(missing="em", types={"a": "low<high"})
    found = _read(_saved(design=design, policy=policy), max_evals=7)
    assert found["design"].get_params() == design.get_params()
    assert found["policy"] == policy
    assert found["settings"].max_evals == 7
    assert "start" not in found


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("design", {"groups": [1.5, 2]}, "groups must be a name or whole numbers"),
        ("design", {"groups": "id"}, "groups must be"),
        ("design", {"weights": [1, "b"]}, "weights must be a name or numbers"),
        ("design", {"control": None}, "control"),
        ("design", {"targets": {"a": "x"}}, "targets must be kinds by column"),
        ("design", {"targets": {"a": {"x": "hard"}}}, "the design of the saved search: targets needs the column"),
        ("policy", {"missing": "guess"}, "the policy of the saved search: missing must be one of"),
        ("policy", {"types": {"a": 3}}, "types must be a mapping of columns to types"),
        ("policy", {"colour": "red"}, "the policy of the saved search: DataPolicy has no parameter 'colour'"),
        ("policy", {"imputations": True}, "imputations must be a whole number"),
    ],
)
def test_forged_parameters_are_refused(part, change, words):
    plain = _saved()
    plain[part] |= change
    with pytest.raises(CheckpointError, match=words):
        _read(plain)
