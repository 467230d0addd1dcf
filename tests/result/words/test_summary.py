import numpy as np
import pytest

from drbo.claims.record import CheckedEdge, Margins, NoiseCheck, Proof
from drbo.deadline import Stop
from drbo.result.records import SearchRecord
from drbo.result.words.summary import CUT_SHORT, SHOWN_EDGES, fidelity_lines
from drbo.search.outcome import Fidelity
from tests.hidden import hidden_model, with_hidden
from tests.results import FULL_DAG, full_result


class TestSummary:
    def test_class_comes_first_for_a_score_equivalent_score(self):
        text = full_result().summary()
        assert text.index("Equivalence class (CPDAG): 2 directed and 1 undirected") < text.index(
            "one member of the class"
        )
        assert "a -- b,c" in text
        assert '"q" -> na\\xefve\\n$x$' in text
        assert "edges; directions: 2 supported (1 class, 1 noise check), 0 assumed, 1 open" in text
        assert "directions by class rest on independences in the table" in text
        assert "directions by noise check rest on additive noise" in text
        assert str(full_result()) == text

    def test_every_edge_says_what_its_direction_rests_on(self):
        check = NoiseCheck("reverse", "additive", 1e-9, 0.4, 1e-6, 0.5, 0.01, 0.04)
        noise = (CheckedEdge(cause="a", effect="b,c", check=check),)
        text = full_result(score_equivalent=False, noise=noise, assumption="smooth effects").summary()
        line = next(line for line in text.splitlines() if line.startswith("  a -?> b,c "))
        assert line.endswith("assumed, contradicted by the noise check")
        assert "assumed directions rest on smooth effects; no test confirms them" in text
        assert text.splitlines()[-1].startswith("ask          Which of 'a' and 'b,c' can be a cause of the other?")
        assert "ask" not in full_result(dag=np.zeros((4, 4), dtype=bool)).summary()

    def test_the_runner_up_may_be_a_reversed_arrow(self):
        margins = Margins(np.where(FULL_DAG, 9.0, np.nan), np.where(FULL_DAG, [[3.0], [1.25], [0], [4]], np.nan), True)
        text = full_result(margins=margins, score_equivalent=False).summary()
        words = "runner-up    the best graph with b,c -> na\\xefve\\n$x$ reversed scores 1.25 lower"
        assert words in text
        assert "the next-best equivalence class scores 2.5 lower" in full_result(margins=margins).summary()

    def test_other_scores_show_the_dag_alone(self):
        text = full_result(score_equivalent=False).summary()
        assert "CPDAG" not in text
        assert "member" not in text
        assert "DAG: 3 edges" in text
        assert " -- " not in text

    def test_tells_how_it_was_found(self):
        text = full_result().summary()
        for part in (
            "4 variables, 853 rows, score bic-nv",
            "-411.366667 before pruning, -411.400000 after",
            "f-test: 1 of 4 edges removed",
            "2000 evaluations, 5123 local scores computed, 12.3 s",
            "budget of 2000 evaluations spent",
            "trust region",
            "numeric columns: bic-nv",
            "column 'a' is skewed",
            "(standardised",
            "proof        the graph before pruning is at most 10.8667 below the optimum of all DAGs on 4 columns",
            "runner-up    the next-best equivalence class scores 2.5 lower than the graph before pruning (all DAGs)",
            "edge prior   every DAG alike",
            "frequencies  2 of 4 resamples, the weakest edge in 100% of them; 4 links at or above the threshold of",
        ):
            assert part in text

    def test_tells_what_was_spent_on_cheaper_versions_of_the_score(self):
        spent = (Fidelity("waves", 0.1, 300), Fidelity("splines", 0.0, 7))
        assert fidelity_lines(SearchRecord(dag=np.zeros((2, 2)), score=0.0, n_local=50, fidelities=spent)) == [
            "tried first  300 by waves at 0.1 each, 7 by splines at 0 each; the cost of 80 local scores in all"
        ]
        assert fidelity_lines(SearchRecord(dag=np.zeros((2, 2)), score=0.0, n_local=50)) == []

    def test_without_a_test_after_the_search_there_is_one_score(self):
        text = full_result(pruner="none", searched_dag=FULL_DAG, pruned_score=-1234.1 / 3).summary()
        assert "\nscore        -411.366667\nsearch " in text

    @pytest.mark.parametrize(
        ("stop", "afterwards", "cut_short"),
        [
            *((Stop.TIME_LIMIT, None, True), (Stop.INTERRUPTED, None, True), (Stop.BUDGET, Stop.TIME_LIMIT, True)),
            *((Stop.BUDGET, None, False), (Stop.CALLBACK, None, False), (Stop.UNKNOWN, None, False)),
        ],
    )
    def test_says_where_another_run_may_end_elsewhere(self, stop, afterwards, cut_short):
        result = full_result(stop=stop, afterwards=afterwards, stopped="interrupted, a callback may say")
        assert result.cut_short == cut_short
        assert ("another run may find a different graph" in result.summary()) == cut_short

    def test_hostile_texts_cannot_reach_the_terminal(self):
        names, bare = ("\x1b[2J", "\r", "\u202e", "d"), {"classes": (), "confidence": None, "noise": (), "halves": ()}
        proof = Proof(upper_bound=0.0, tolerance=0.0, valid_for="\x1b[2J")
        text = full_result(names=names, stopped="\x07", reasons=("\x1b]0;",), proof=proof, **bare).summary()
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "\\x1b[2J" in text

    def test_long_lists_are_cut(self):
        d = 20
        dag = np.triu(np.ones((d, d), dtype=bool), 1)
        bare = dict.fromkeys(
            ("weights", "standardised_weights", "margins", "posterior", "confidence", "local", "price")
        )
        result = full_result(
            names=[f"v{j}" for j in range(d)], dag=dag, searched_dag=dag, classes=(), noise=(), halves=(),
            score_equivalent=False, **bare,
        )  # fmt: skip
        assert "... and 130 more" in result.summary()
        assert repr(result) == "<Result: 20 nodes, 190 edges, bic-nv -411.4>"


def test_the_summary_of_a_pag_lists_edges_and_explains_the_signs_that_it_uses():
    text = hidden_model().result_.summary()
    assert "PAG: 4 edges; marks: 4 supported, 0 assumed, 0 open" in text
    assert "b <-> c  supported: tests agree\n" in text
    assert "b --> e  supported: tests agree (visible)" in text
    assert "<->          neither causes the other; something not in the table is involved" in text
    assert "o-o" not in text


def test_a_long_list_of_a_pag_is_cut_and_a_climb_out_of_time_is_told():
    d = SHOWN_EDGES + 2
    text = with_hidden(np.eye(d, k=1), np.zeros((d, d)), whole=False).summary()
    assert "... and 1 more" in text
    assert CUT_SHORT in text
    assert "the data do not tell" in text
