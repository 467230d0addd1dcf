from drbo.result.report.edge_columns import COLUMNS, EdgeColumn


def test_figures_are_written_for_people():
    assert COLUMNS["weight"].write(-2.0) == "−2"
    assert COLUMNS["margin_removed"].write(1012.3) == "1,012"
    assert EdgeColumn("x", "").write(float("nan")) == ""
    assert EdgeColumn("x", "").write(True) == "yes"
    assert EdgeColumn("x", "").write("a\nb") == "a\\nb"
