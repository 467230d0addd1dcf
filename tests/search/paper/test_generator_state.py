import io

import pytest
import torch

from drbo.data.files.files import npz_bytes, stored_archive
from drbo.errors import CheckpointError
from drbo.search.paper.generator_state import _TWISTER, restore_generator, torch_state
from drbo.search.state import Fields, pack


def _twister(**changes):
    """Return the state of a torch generator with some of its fields changed."""
    raw = torch_state(torch.Generator().manual_seed(1)).copy()
    for name, value in changes.items():
        raw.view(_TWISTER)[name] = value
    return raw


def _read_twister(raw):
    generator = torch.Generator()
    archive = stored_archive(io.BytesIO(npz_bytes({**pack({}), "generator": raw})), "state.npz")
    restore_generator(Fields.of(archive, "state.npz"), "generator", generator)
    return generator


@pytest.mark.parametrize(
    "changes",
    [
        {"left": 600, "next": 624},  # torch would take it, and read beyond its memory
        *({"left": 0}, {"left": 625}, {"next": 2**63}, {"seeded": 0}, {"words": 0}, {"words": 2**32}),
        *({"has_normal": 2}, {"has_float_normal": 7}),
    ],
)
def test_a_torch_generator_that_would_read_beyond_its_memory_is_refused(changes):
    with pytest.raises(CheckpointError, match="Mersenne Twister"):
        _read_twister(_twister(**changes))


def test_a_torch_generator_goes_on():
    for count in (0, 1, 623, 624, 625):
        generator = torch.Generator().manual_seed(5)
        torch.rand(count, generator=generator)
        torch.randn(1, generator=generator)
        again = _read_twister(torch_state(generator))
        assert torch.equal(torch.randn(700, generator=generator), torch.randn(700, generator=again))
