import pytest
import torch

from drbo.scores.threads import in_threads


@pytest.mark.parametrize(("size", "work", "parts"), [(10, 10**9, 3), (2, 10**9, 2), (10, 10, 1), (0, 0, 1)])
def test_parts_cover_everything_once(size, work, parts):
    before, seen = torch.get_num_threads(), []
    try:
        torch.set_num_threads(3)
        in_threads(lambda first, last, word: seen.append((first, last, word)), size, work, "word")
    finally:
        torch.set_num_threads(before)
    seen.sort()
    assert len(seen) == parts
    assert [i for first, last, _ in seen for i in range(first, last)] == list(range(size))
