import numpy as np
import torch

from drbo.constraints import Constraints
from drbo.knowledge import Knowledge
from drbo.search.paper.inputs import Inputs

NAMES = list("abcdefgh")


def test_all_nodes_are_inputs_without_knowledge(rng):
    inputs = Inputs.all_nodes(11)
    dags = rng.random((7, 11, 11)) < 0.4
    codes = inputs.encode(dags)
    assert codes.shape == (11, 7, 2)
    assert inputs.is_complete
    assert (inputs.unpack(torch.as_tensor(codes)).numpy() == dags.transpose(2, 0, 1)).all()


def test_few_allowed_parents_make_few_inputs(rng):
    constraints = Constraints.of(Knowledge(tiers=[list("ab"), list("cdefgh")], forbid_within_tiers=True), NAMES)
    inputs = Inputs.allowed(constraints)
    assert (inputs.n_inputs, inputs.n_bytes, inputs.is_complete) == (2, 1, False)
    assert inputs.parents[0].tolist() == [-1, -1]
    assert inputs.parents[5].tolist() == [0, 1]
    assert inputs.place[5].tolist() == [0, 1, -1, -1, -1, -1, -1, -1]
    dags = (rng.random((9, 8, 8)) < 0.5) & constraints.allowed
    nodes, parents = torch.tensor([5, 0, 2]), torch.as_tensor(dags.transpose(2, 0, 1))
    seen = inputs.gather(nodes, parents[nodes])
    assert (inputs.unpack(torch.as_tensor(inputs.encode(dags)))[nodes] == seen).all()
    assert (seen[0].numpy() == dags[:, :2, 5]).all()
    assert not seen[1].any()


def test_a_parent_that_is_not_allowed_has_no_place():
    inputs = Inputs.allowed(Constraints.of(Knowledge(forbidden=["a -> b"]), NAMES))
    assert inputs.is_complete
    assert inputs.place[1, 0] == -1
    assert inputs.place[0, 1] == 1
    assert (np.diag(inputs.place) == -1).all()


def test_the_constraints_are_left_alone():
    constraints = Constraints.none(4)
    before = constraints.allowed.copy()
    Inputs.allowed(constraints)
    assert (constraints.allowed == before).all()
