"""CUDA-graph capture and replay: a fixed sequence of operations is recorded once and launched as a whole."""

from collections.abc import Callable

import torch
from torch import Tensor

#: Runs before the recording, so that libraries make their first-use allocations outside it.
WARM_UP = 2


class GraphedSteps:
    """A function of tensors that changes its own state in place, as a CUDA graph.

    The function must not change any state that a warm-up may not change: the state is restored after it.
    """

    def __init__(self, function: Callable[..., None], inputs: tuple[Tensor, ...], state: tuple[Tensor, ...]) -> None:
        self._inputs = tuple(tensor.contiguous().clone() for tensor in inputs)
        kept = [tensor.clone() for tensor in state]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                function(*self._inputs)
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            function(*self._inputs)
        for tensor, before in zip(state, kept, strict=True):
            tensor.copy_(before)

    def replay(self, inputs: tuple[Tensor, ...]) -> None:
        """Run the function on new inputs."""
        for own, tensor in zip(self._inputs, inputs, strict=True):
            own.copy_(tensor)
        self._graph.replay()
