"""The state of a torch generator in a saved search."""

import numpy as np
import torch

from drbo.search.state import Array, Fields

#: What torch keeps of a generator on the CPU: the Mersenne Twister of Matsumoto & Nishimura (1998) with 624 words.
_WORDS = 624
_TWISTER = np.dtype(
    [
        *(("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", (_WORDS,))),
        *(("normals", "<f8", (3,)), ("has_normal", "<i4"), ("padding", "<i4")),
        *(("float_normal", "<f4"), ("has_float_normal", "u1"), ("end", "u1", (3,))),
    ]
)


def torch_state(generator: torch.Generator) -> Array:
    """Return the state of a torch generator."""
    return generator.get_state().numpy()


def restore_generator(fields: Fields, name: str, generator: torch.Generator) -> None:
    """Set a torch generator to the state in a field.

    Torch reads beyond its memory where the place in a Mersenne Twister does not fit what is left of it.
    """
    raw = fields.array(name, np.uint8, (len(generator.get_state()),))
    if generator.device.type == "cpu":
        twister = raw.view(_TWISTER)[0]
        left, place = int(twister["left"]), int(twister["next"])
        inside = 1 <= left <= _WORDS and (left + place == _WORDS + 1 or (left, place) == (1, 0))
        flags = twister["seeded"] == 1 and twister["has_normal"] in (0, 1) and twister["has_float_normal"] in (0, 1)
        words = twister["words"].max() < 2**32 and twister["words"].any()
        if not (inside and flags and words):
            fields.refuse(name, "be the state of a Mersenne Twister", "another state")
    try:
        generator.set_state(torch.as_tensor(raw))
    except RuntimeError as error:
        fields.refuse(name, f"be the state of a generator of {generator.device}", f"{error!s:.80}")
