from drbo.result.report.edge_columns import COLUMNS, Column


def test_figures_are_written_for_people():
    assert COLUMNS["weight"].write(-2.0) == "−2"
    assert COLUMNS["margin_removed"].write(1012.3) == "1,012"
    assert Column("x", "").write(float("nan")) == ""
    assert Column("x", "").write(True) == "yes"
    assert Column("x", "").write("a\nb") == "a\\nb"
