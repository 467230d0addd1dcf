import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest

from drbo.claims.record import Margins, RankedClass
from drbo.errors import ResultError
from drbo.knowledge import Knowledge
from tests.results import FULL_DAG, FULL_NAMES, assert_same, full_result, shares


class TestGraph:
    def test_cpdag_leaves_open_what_no_v_structure_orients(self):
        expected = FULL_DAG.copy()
        expected[1, 0] = True
        np.testing.assert_array_equal(full_result().cpdag, expected)

    def test_edges_of_a_score_equivalent_score(self):
        result = full_result()
        table = result.edges()
        assert list(table) == [
            *("source", "target", "weight", "standardised_weight", "directed", "direction", "ground", "contradicted"),
            *("stable", "margin_removed", "margin_reversed", "p_link", "p_forward", "p_backward"),
            *("reason", "frequency", "link_frequency"),
        ]
        assert table["margin_removed"].tolist() == result.margins.removed[FULL_DAG].tolist()
        assert table["p_link"].tolist() == result.p_link[FULL_DAG].tolist()
        assert table["direction"].tolist() == ["open", "supported", "supported"]
        assert table["ground"].tolist() == ["", "noise-check", "class"]
        np.testing.assert_array_equal(table["stable"], [np.nan, np.nan, 0.75])
        assert table["reason"].tolist()[:2] == ["tie", "noise check"]
        assert table["frequency"].tolist() == [0.5, 1.0, 1.0]  # a - b,c is directed in the other resample
        assert table["link_frequency"].tolist() == [1.0, 1.0, 1.0]
        assert list(zip(table["source"], table["target"], table["directed"], strict=True)) == [
            ("a", "b,c", False),
            ("b,c", "naïve\n$x$", True),
            ('"q"', "naïve\n$x$", True),
        ]
        assert table["weight"].tolist() == [result.weights[0, 1], result.weights[1, 2], result.weights[3, 2]]
        assert table["standardised_weight"][0] == result.standardised_weights[0, 1]

    def test_other_scores_direct_every_edge(self):
        found = full_result(score_equivalent=False)
        assert found.edges()["directed"].all()
        assert found.edges()["direction"].tolist() == ["assumed", "supported", "supported"]
        assert np.argwhere(found.assumed).tolist() == [[0, 1]]
        assert not full_result(score_equivalent=False).undirected.any()

    def test_edges_without_weights(self):
        bare = dict.fromkeys(("weights", "standardised_weights", "margins", "posterior", "confidence")) | {"halves": ()}
        columns = ["source", "target", "directed", "direction", "ground", "contradicted", "reason"]
        assert list(full_result(**bare).edges()) == columns
        assert list(full_result(dag=np.zeros((4, 4))).edges().index) == []

    def test_cpdag_edges_list_an_undirected_edge_once(self):
        table = full_result().cpdag_edges()
        assert table["directed"].tolist() == [False, True, True]
        assert table["source"].tolist() == ["a", "b,c", '"q"']

    def test_adjacency_and_networkx_agree_with_the_matrix(self):
        result = full_result()
        frame, graph = result.adjacency(), result.to_networkx()
        assert frame.loc["a", "b,c"] == 1
        assert frame.loc["b,c", "a"] == 0
        assert list(graph.nodes) == list(FULL_NAMES)
        assert graph.edges["a", "b,c"] == {
            "direction": "open",
            "ground": "",
            "weight": result.weights[0, 1],
            "standardised_weight": result.standardised_weights[0, 1],
        }
        assert graph.number_of_edges() == 3

    def test_probabilities_of_directions(self):
        """Open edges have none; the noise check counts before the posterior, and only that of class scores counts."""
        posterior = np.zeros((4, 4))
        posterior[0, 1], posterior[1, 0] = 0.5, 0.4
        posterior[1, 2], posterior[3, 2], posterior[2, 3] = 0.5, 0.6, 0.2
        table = full_result(posterior=posterior).edges()
        assert table["p_link"].tolist() == pytest.approx([0.9, 0.5, 0.8])
        assert table["p_forward"].tolist() == pytest.approx([np.nan, 0.5 * 0.96, 0.6], nan_ok=True)
        assert table["p_backward"].tolist() == pytest.approx([np.nan, 0.5 * 0.04, 0.2], nan_ok=True)
        other = full_result(posterior=posterior, score_equivalent=False).edges()
        assert other["p_forward"].tolist() == pytest.approx([np.nan, 0.5 * 0.96, np.nan], nan_ok=True)
        known = full_result(posterior=posterior, knowledge=Knowledge(required=["a -> b,c"])).edges()
        assert known["p_forward"][0] == known["p_link"][0] == 0.9
        assert known["ground"][0] == "given"

    def test_weak_edges(self):
        posterior = np.where(FULL_DAG, [[1.0], [0.7], [0.0], [0.9]], 0.0)
        found = full_result(posterior=posterior, confidence=None)
        assert np.argwhere(found.weak).tolist() == [[1, 2]]
        assert not full_result(posterior=None, confidence=None).weak.any()
        graphs = [FULL_DAG] * 9 + [FULL_DAG & (np.arange(4) == 1)]
        counted = full_result(confidence=shares(graphs[-1:] * 9 + graphs[:1], FULL_NAMES))
        assert np.argwhere(counted.weak).tolist() == [[1, 2], [3, 2]]

    def test_results_without_noise_checks_claim_less(self):
        found = full_result(noise=(), confidence=None, evidence_scale=None)
        assert found.edges()["direction"].tolist() == ["open", "assumed", "assumed"]

    def test_trace(self):
        trace = full_result().trace
        assert list(trace) == ["n_evals", "n_local", "seconds", "best"]
        assert trace["n_evals"].tolist() == [0, 64, 128]
        trace.loc[0, "n_evals"] = 7
        assert full_result().trace["n_evals"][0] == 0

    def test_is_frozen_and_shares_nothing_with_the_caller(self):
        dag = FULL_DAG.copy()
        result = full_result(dag=dag)
        dag[:] = False
        assert result.dag.sum() == 3
        with pytest.raises(ValueError, match="read-only"):
            result.dag[0, 0] = True
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.score = 0.0

    def test_survives_pickling_between_processes(self):
        assert_same(full_result(), pickle.loads(pickle.dumps(full_result())))

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"names": ("a", "b")}, "4 nodes need 4 names, got 2"),
            ({"names": ("a", "b", "a", "c")}, "unique, got 'a' twice"),
            ({"names": ("a", "b", "", "c")}, "non-empty string"),
            ({"dag": FULL_DAG | FULL_DAG.T}, "dag: .*cycle"),
            ({"searched_dag": np.zeros((3, 3))}, "search.dag must have shape"),
            ({"local": np.zeros(3)}, r"search.local must have shape \(4,\), got \(3,\)"),
            ({"weights": np.zeros(4)}, "weights must have shape"),
            (
                {"margins": Margins(np.zeros((4, 4)), np.zeros(4), exact=True)},
                "claims.margins.reversed must have shape",
            ),
            ({"confidence": shares([FULL_DAG], names="abcd")}, "about other variables"),
            ({"classes": (RankedClass(score=0.0, behind=0.0, edges=(("a", "z"),)),)}, "an edge with 'z', which is not"),
            ({"knowledge": Knowledge(roots=["z"])}, "knowledge: .*'z'"),
            ({"searched_dag": FULL_DAG | FULL_DAG.T}, "search.dag: .*cycle"),
            (
                {"trace": {"n_evals": [1], "n_local": [1, 2], "seconds": [1], "best": [1]}},
                "trace.n_local must have",
            ),
        ],
    )
    def test_parts_must_fit_together(self, changes, message):
        with pytest.raises(ResultError, match=message):
            full_result(**changes)


def test_what_is_used_most_is_at_hand():
    result = full_result()
    search, provenance = result.search, result.provenance
    assert (result.score, result.stopped, result.n_evals) == (search.score, search.stopped, search.n_evals)
    assert (result.n_local, result.seconds, result.searched_dag) == (search.n_local, search.seconds, search.dag)
    assert (result.settings, result.seed) == (provenance.settings, provenance.seed)
    assert (result.score_name, result.score_equivalent) == ("bic-nv", True)
    assert (result.margins, result.posterior, result.top) == (
        result.claims.margins, result.claims.posterior, result.claims.classes,
    )  # fmt: skip
    assert result.gap == pytest.approx(1234.1 / 3 - 400.5)
    assert full_result(proof=None).gap is None


def test_plot_is_forwarded(tmp_path):
    assert full_result().plot(tmp_path / "graph.svg") is None
    assert (tmp_path / "graph.svg").read_text().startswith("<svg")


def test_import_needs_numpy_alone():
    code = "import sys, drbo.result.result; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "matplotlib", "networkx", "torch", "sklearn"} & set(done.stdout.split())
