from drbo.claims.record import ExperimentRecord, Target
from drbo.result.report.experiments import matrix
from drbo.result.report.page import report_html
from tests.results import full_result

TARGETS = (Target(experiment="hot", column="b,c", margin=123.4), Target(experiment="<cold>", column="a", margin=9.0))
RUNS = ExperimentRecord(column="run", labels=("plain", "<cold>", "hot"), rows=(1800, 53, 70), targets=TARGETS)


def test_the_matrix_has_a_row_per_experiment_and_a_column_per_changed_variable():
    found = matrix(full_result(experiments=RUNS))
    assert found.control == "plain"
    assert found.variables == ("a", "b,c")
    assert found.rows == (("<cold>", "53", ("9", "")), ("hot", "70", ("", "123")))
    assert matrix(full_result()) is None


def test_the_report_shows_it_and_escapes_labels():
    page = report_html(full_result(experiments=RUNS))
    assert '<section id="experiments">' in page
    assert "&lt;cold&gt;" in page
    assert "<cold>" not in page
    assert '<section id="experiments">' not in report_html(full_result())
