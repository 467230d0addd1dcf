"""What is kept in the folder beside the run."""

from drbo.studio.said import Said
from drbo.studio.state_file import PlainRun, StudioState, read_state, write_state


def test_the_state_is_read_as_it_was_written(tmp_path):
    path, said = tmp_path / "studio.json", Said(forbid=(("a", "b"),))
    assert read_state(path, "t.csv") is None
    state = StudioState(
        "t.csv", said, [Said()], [said], [["first", "", said.to_mapping()]], PlainRun(said, [["a", "b"]])
    )
    write_state(path, state)
    found = read_state(path, "")
    assert found is not None
    assert (found.table, found.said, found.past, found.future, found.plain) == (
        "t.csv", said, [Said()], [said], state.plain,
    )  # fmt: skip
    assert found.versions[0][0] == "first"
    assert path.stat().st_mode & 0o077 == 0
