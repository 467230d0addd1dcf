import pytest

from drbo.errors import ResultError
from drbo.result.files import graph_text
from drbo.result.files.export import read_graph


def _file(tmp_path, text):
    (tmp_path / "g.csv").write_text(text, newline="")
    return tmp_path / "g.csv"


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("labels", [True, False])
def test_tables_of_numbers_with_and_without_names(tmp_path, rng, names, labels):
    matrix = (rng.random((6, 6)) < 0.3).astype(int)
    nodes = [f"n{k}" for k in range(6)]
    lines = [",".join([*([nodes[k]] if names and labels else []), *map(str, row)]) for k, row in enumerate(matrix)]
    if names:
        lines.insert(0, ",".join([*([""] if labels else []), *nodes]))
    found, read = read_graph(_file(tmp_path, "\n".join(lines)))
    assert (found == (matrix != 0)).all()
    assert read == (tuple(nodes) if names else tuple(f"x{k}" for k in range(6)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1,0\n0,0,inf\n0,0,0\n", "line 2: an adjacency matrix must contain numbers, got 'inf'"),
        ("0,1,nan\n0,0,1\n0,0,0\n", "line 1: an adjacency matrix must contain numbers, got 'nan'"),
        (",a,b\na,0,1\nb,x,0\n", "line 3: an adjacency matrix must contain numbers, got 'x'"),
        ("a,b,c\n0,0,0\nx,y,0\n0,z,0\n", "line 3: an adjacency matrix must contain numbers, got 'x'"),
        ("name,of,things\n" + "a,b,c\n" * 20, "neither an edge list nor an adjacency matrix: 21 lines of 3 cells"),
    ],
)
def test_the_first_cell_that_is_wrong_is_named(tmp_path, text, message):
    with pytest.raises(ResultError, match=message):
        read_graph(_file(tmp_path, text))


def test_the_number_of_lines_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(graph_text, "MAX_LINES", 100)
    for end in ("\n", "\r\n", "\r"):
        assert read_graph(_file(tmp_path, f"a,b{end}" * 100))[0].sum() == 1
        with pytest.raises(ResultError, match="more than 100 lines"):
            read_graph(_file(tmp_path, f"a,b{end}" * 101))


def test_the_number_of_nodes_is_bounded_before_a_matrix_is_made(tmp_path):
    text = "source,target\n" + "\n".join(f"a{k},b{k}" for k in range(10_000))
    with pytest.raises(ResultError, match="1 to 16384 nodes"):
        read_graph(_file(tmp_path, text))
