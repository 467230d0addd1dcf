import pytest
import torch

from drbo.search.paper.cuda_graphs import GraphedSteps


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_replay_does_what_the_function_does():
    state = torch.zeros(3, device="cuda")

    def add(x, y):
        state.add_(x * y)

    x, y = torch.arange(3.0, device="cuda"), torch.full((3,), 2.0, device="cuda")
    graph = GraphedSteps(add, (x, y), (state,))
    assert state.tolist() == [0.0, 0.0, 0.0]  # neither the warm-up nor the recording counts
    graph.replay((x, y))
    graph.replay((x + 1, y))
    assert state.tolist() == [2.0, 6.0, 10.0]


def test_without_a_gpu_there_is_nothing_to_record():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises((RuntimeError, AssertionError)):
        GraphedSteps(lambda x: None, (torch.zeros(1),), ())
