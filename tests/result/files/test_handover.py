"""Round trips through the real libraries, and texts against what their grammars say.

DoWhy and pgmpy need other versions of scipy than this package is tested with, so they live in an environment of their
own: DRBO_HANDOVER_PYTHON names its interpreter. Where DRBO_REQUIRE_HANDOVER is set, a missing one is a failure.
"""

import json
import os
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drbo
from drbo import DrBO, Knowledge
from drbo.errors import ResultError
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.marks import ARROW, CIRCLE, TAIL, MarkedGraph
from drbo.result.files.export import read_graph
from drbo.result.files.handover import (
    OF_ARROWS,
    from_causallearn,
    hand_over,
    to_bnlearn,
    to_causallearn,
    to_dagitty,
    to_dot,
    to_gml,
    to_graphml,
    to_lavaan,
)
from tests.hidden import hidden_model
from tests.results import make_result

DAG = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
V_SHAPE = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
NAMES = ("age", "dose", "out.come", "alone")
HOSTILE = ('a"b', "c\\", "d -> e", "<b>&")

of = MarkedGraph.of


def random_dag(seed, d=8):
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < 0.4, 1)[np.ix_(order, order)]


class TestTexts:
    def test_dot(self):
        text = to_dot(of(dag_to_cpdag(V_SHAPE), NAMES))
        assert '"age" -> "out.come";' in text
        text = to_dot(of([[0, 1], [1, 0]], "ab"))
        assert text.count("->") == 1
        assert "[dir=none]" in text
        assert 'label="2.5"' in to_dot(of([[0, 1], [0, 0]], "ab"), weights=[[0, 2.5], [0, 0]])

    @pytest.mark.filterwarnings("ignore")  # pydot uses old names of pyparsing
    def test_dot_is_read_back_by_a_parser_of_dot(self):
        pydot = pytest.importorskip("pydot")
        (graph,) = pydot.graph_from_dot_data(to_dot(of(DAG, HOSTILE)))
        assert len(graph.get_edges()) == 3
        assert len(graph.get_nodes()) == 4

    def test_bnlearn_lists_every_node_once_causes_first(self):
        assert to_bnlearn(of(DAG, NAMES)) == "[age][alone][dose|age][out.come|age:dose]"

    def test_lavaan_regresses_effects_on_causes(self):
        assert to_lavaan(of(DAG, NAMES)) == "dose ~ age\nout.come ~ age + dose"

    def test_notes_become_attributes_and_comments(self):
        notes = {(0, 1): {"direction": "supported", "ground": "class"}, (0, 2): {"direction": "open", "ground": ""}}
        dag = of([[0, 1, 1], [0, 0, 0], [0, 0, 0]], "abc")
        text = to_dot(dag, notes=notes)
        assert '"a" -> "b" [direction="supported", ground="class"];' in text
        assert '"a" -> "c" [dir=none, direction="open"];' in text
        assert to_lavaan(dag, notes).splitlines() == [
            "# a -> b: supported, class", "# a -> c: open", "b ~ a", "c ~ a"]  # fmt: skip

    def test_dagitty_says_what_kind_of_graph_it_is(self):
        assert to_dagitty(of(DAG, NAMES)).startswith("dag {")
        text = to_dagitty(of([[0, 1], [1, 0]], "ab"))
        assert text.startswith("pdag {")
        assert '"a" -- "b"' in text

    @pytest.mark.parametrize(("form", "name"), [(to_bnlearn, "a|b"), (to_lavaan, "dose [mg]"), (to_lavaan, "TRUE"),
                                                (to_dagitty, 'a"b'), (to_graphml, "a\x00b")])  # fmt: skip
    def test_a_name_that_would_change_the_meaning_is_refused(self, form, name):
        with pytest.raises(ResultError, match="does not support the name"):
            form(of([[0, 1], [0, 0]], [name, "b"]))

    @pytest.mark.parametrize("form", [to_bnlearn, to_lavaan, to_gml, to_graphml])
    def test_forms_without_undirected_edges_refuse_them(self, form):
        with pytest.raises(ResultError, match="not support undirected edges"):
            form(of([[0, 1], [1, 0]], "ab"))


class TestNetworkx:
    @settings(max_examples=12, deadline=None)
    @given(
        st.lists(st.text(min_size=1, max_size=8).filter(lambda t: t.isprintable()), min_size=4, max_size=4, unique=True)
    )
    def test_gml_with_any_printable_names(self, names):
        back = nx.parse_gml(to_gml(of(DAG, names)))
        assert (nx.to_numpy_array(back, nodelist=names) == DAG).all()

    def test_graphml(self):
        text = to_graphml(of(DAG, HOSTILE), weights=2.5 * DAG)
        back = nx.parse_graphml(text)
        assert (nx.to_numpy_array(back, nodelist=HOSTILE, weight=None) == DAG).all()
        assert {values["weight"] for *_, values in back.edges(data=True)} == {2.5}
        assert ET.fromstring(text) is not None


class TestCausalLearn:
    @pytest.mark.parametrize("seed", range(5))
    def test_round_trip_of_dags_and_classes(self, seed):
        pytest.importorskip("causallearn")
        for graph in (random_dag(seed), dag_to_cpdag(random_dag(seed))):
            names = [f"x{k}" for k in range(8)]
            back, found = from_causallearn(to_causallearn(of(graph, names)))
            assert (back == graph).all()
            assert found == tuple(names)

    def test_it_is_not_transposed(self):
        pytest.importorskip("causallearn")
        made = to_causallearn(of([[0, 1], [0, 0]], ["cause", "effect"]))
        (edge,) = made.get_graph_edges()
        assert str(edge) == "cause --> effect"

    def test_its_own_comparison_agrees(self):
        pytest.importorskip("causallearn")
        from causallearn.graph.SHD import SHD

        graphs = [dag_to_cpdag(random_dag(seed)) for seed in (1, 2)]
        assert SHD(*(to_causallearn(of(graph, "abcdefgh")) for graph in graphs)).get_shd() > 0
        assert SHD(*[to_causallearn(of(graphs[0], "abcdefgh"))] * 2).get_shd() == 0

    def test_bidirected_edges_are_refused(self):
        pytest.importorskip("causallearn")
        from causallearn.graph.Edge import Edge
        from causallearn.graph.Endpoint import Endpoint

        made = to_causallearn(of(np.zeros((2, 2)), "ab"))
        made.add_edge(Edge(*made.get_nodes(), Endpoint.ARROW, Endpoint.ARROW))
        with pytest.raises(ResultError, match="'a' and 'b' is neither"):
            from_causallearn(made)


class TestMarks:
    """PAGs: a o-> b -> c."""

    PAG = MarkedGraph(tuple("abc"), np.array([[0, ARROW, 0], [CIRCLE, 0, ARROW], [0, TAIL, 0]]), "pag")

    def test_causallearn_prints_the_same_edges(self):
        pytest.importorskip("causallearn")
        graph = to_causallearn(self.PAG)
        assert sorted(str(edge) for edge in graph.get_graph_edges()) == ["a o-> b", "b --> c"]

    def test_arrows_of_dagitty_point_to_the_right(self):
        turned = to_dagitty(self.PAG.take([2, 1, 0]))
        assert '"a" @-> "b"' in turned
        assert '"b" -> "c"' in turned
        both = MarkedGraph(("a", "b"), np.array([[0, ARROW], [ARROW, 0]]), "pag")
        assert '"a" <-> "b"' in to_dagitty(both)

    def test_the_matrix_of_pcalg_is_read_back(self, tmp_path):
        result = hidden_model().result_
        found = pd.read_csv(result.export(tmp_path / "graph.pcalg"), index_col=0)
        assert list(found) == list(result.names)
        np.testing.assert_array_equal(found.to_numpy(), result.graph.marks)

    def test_tables_hold_both_marks(self, tmp_path):
        result = hidden_model().result_
        rows = pd.read_csv(result.export(tmp_path / "graph.csv"))
        assert rows["mark_target"].tolist() == result.edges()["mark_target"].tolist()
        content = json.loads(result.export(tmp_path / "graph.json").read_text())
        assert content["nodes"] == list(result.names)
        assert content["mark_source"] == result.edges()["mark_source"].tolist()

    def test_graphviz_gets_the_shapes_of_the_marks(self, tmp_path):
        text = hidden_model().result_.export(tmp_path / "graph.dot").read_text()
        assert '"b" -> "c" [dir=both, arrowtail=normal, arrowhead=normal];' in text

    def test_other_formats_are_refused(self, tmp_path):
        with pytest.raises(ResultError, match="hidden causes can be exported to"):
            hidden_model().result_.export(tmp_path / "graph.lavaan")


class TestFiles:
    @pytest.mark.parametrize("kind", [".csv", ".json", ".npz"])
    def test_what_can_be_read_is_read_back(self, tmp_path, kind):
        path = hand_over(tmp_path / f"graph{kind}", of(DAG, NAMES))
        back, _ = read_graph(path, names=NAMES)
        assert (back == DAG).all()

    def test_another_ending_is_refused(self, tmp_path):
        with pytest.raises(ResultError, match="a graph can be exported to"):
            hand_over(tmp_path / "graph.doc", of(DAG, NAMES))

    def test_a_result_writes_its_graph_or_its_class(self, tmp_path):
        chain = np.array([[0, 1], [0, 0]])
        result = make_result(chain)
        assert "->" in result.export(tmp_path / "one.bnlearn.dot").read_text()
        assert "--" in result.export(tmp_path / "one.dagitty").read_text()  # an open edge
        assert "--" in result.export(tmp_path / "class.dagitty", as_class=True).read_text()
        assert result.causal_matrix.tolist() == [[0, 1], [0, 0]]
        for ending in OF_ARROWS:
            assert result.export(tmp_path / f"graph{ending}").exists()


PROGRAM = r"""
import json, sys
import networkx as nx, numpy as np, pandas as pd
folder = sys.argv[1]
frame = pd.read_csv(folder + "/table.csv")
graph = nx.parse_gml(open(folder + "/graph.gml").read())
from dowhy import CausalModel
model = CausalModel(frame, treatment="dose", outcome="outcome", graph=graph)
estimand = model.identify_effect(proceed_when_unidentifiable=True)
effect = model.estimate_effect(estimand, method_name="backdoor.linear_regression").value
sys.path.insert(0, sys.argv[2])
from drbo.result.files.export import read_graph
from drbo.graph.marks import MarkedGraph
from drbo.result.files.handover import to_pgmpy
made = to_pgmpy(MarkedGraph.of(*read_graph(folder + "/graph.json")))
print(json.dumps({"effect": float(effect), "backdoor": sorted(estimand.get_backdoor_variables()),
                  "kind": type(made).__module__, "parents": sorted(made.get_parents("outcome")),
                  "roots": sorted(made.get_roots()), "nodes": sorted(made.nodes())}))
"""


@pytest.fixture
def other_python():
    program = os.environ.get("DRBO_HANDOVER_PYTHON")
    if not program:
        if os.environ.get("DRBO_REQUIRE_HANDOVER"):
            pytest.fail("DRBO_HANDOVER_PYTHON is not set although DRBO_REQUIRE_HANDOVER is")
        pytest.skip("DRBO_HANDOVER_PYTHON names no environment with DoWhy and pgmpy")
    return program


def test_dowhy_estimates_an_effect_on_our_graph_and_pgmpy_reads_it(tmp_path, other_python):
    """age confounds dose and outcome; the effect of dose on outcome is 1.5."""
    rng = np.random.default_rng(0)
    age = rng.normal(size=800)
    dose = 0.8 * age + rng.normal(size=800)
    outcome = 1.5 * dose - 1.0 * age + rng.normal(size=800)
    table = pd.DataFrame({"age": age, "dose": dose, "outcome": outcome})
    known = Knowledge(tiers=[["age"], ["dose"], ["outcome"]])
    result = DrBO(score="bic-nv", knowledge=known, random_state=0).fit(table).result_
    result.export(tmp_path / "graph.gml")
    result.export(tmp_path / "graph.json")
    table.to_csv(tmp_path / "table.csv", index=False)
    source = str(Path(drbo.__file__).parent.parent)
    words = [other_python, "-c", PROGRAM, str(tmp_path), source]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["backdoor"] == ["age"]
    assert answer["effect"] == pytest.approx(1.5, abs=0.1)
    assert answer["nodes"] == ["age", "dose", "outcome"]
    assert answer["kind"].startswith("pgmpy")
    assert (answer["roots"], answer["parents"]) == (["age"], ["age", "dose"])
