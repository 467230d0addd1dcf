"""What is computed for the page."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO
from drbo.errors import DataError, KnowledgeError
from drbo.studio.said import Answered, Said
from drbo.studio.tasks import STATED, Desk, _settled


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 4))
    x[:, 1] += x[:, 0]
    x[:, 2] += x[:, 1]
    frame = pd.DataFrame(x, columns=list("abcd")).assign(word=rng.choice(["no", "yes"], 300))
    frame.to_csv(folder / "t.csv", index=False)
    DrBO(score="bic-nv", random_state=0).fit(frame[list("abcd")]).result_.save(folder / "run")
    return folder


def test_a_table_is_described_as_it_is_used(place):
    said = Said(drop=("d",), types=(("a", "number"),))
    found = Desk().table(str(place / "t.csv"), said.to_mapping())
    columns = {one["name"]: one for one in found["columns"]}
    assert list(columns) == ["a", "b", "c", "d", "word"]
    assert [name for name, one in columns.items() if one["dropped"]] == ["d"]
    assert sum(columns["a"]["bars"]) == sum(columns["word"]["bars"]) == 300
    assert found["names"] == ["a", "b", "c", "word"]
    assert columns["b"]["used_as"] == "numeric"


def test_a_view_a_price_an_effect_and_a_question(place):
    desk, path, said = Desk(), str(place / "t.csv"), Said(drop=("word",))
    assert desk.view(str(place)) is None
    for ask in (
        lambda: desk.price(path, said.to_mapping(), said.to_mapping()),
        lambda: desk.effect(path, said.to_mapping(), "a", "b"),
    ):
        with pytest.raises(DataError, match="no graph yet"):
            ask()
    view = desk.view(str(place / "run"))
    assert [node["name"] for node in view["graph"]["nodes"]] == list("abcd")
    assert sum(view["kinds"].values()) == len(view["graph"]["edges"]) == 2
    assert desk.supported() == []
    picture = desk.scatter(path, said.to_mapping(), "a", "b")
    assert (len(picture["points"]), set(picture["given"]) <= {"c"}) == (300, True)
    with pytest.raises(DataError, match="no such edge"):
        desk.scatter(path, said.to_mapping(), "a", "word")
    folder = str(place / "run")
    assert "<html" in desk.compare((folder, folder), ("first", "<script>"))
    question = desk.question([])
    assert {question["a"], question["b"]} <= set("abc")
    assert question["settles"] > 1
    assert desk.question([["a", "b"], ["c", "b"]]) is None
    known = Said(drop=("word",), forbid=(("a", "b"), ("b", "a")))
    first = desk.price(path, said.to_mapping(), known.to_mapping())
    assert first["price"] > 10
    assert [one["kind"] for one in first["moved"] if {one["source"], one["target"]} == {"a", "b"}] == ["removed"]
    assert desk.price(path, known.to_mapping(), said.to_mapping())["price"] == pytest.approx(-first["price"])
    desk.price(path, said.to_mapping(), known.to_mapping())
    again = desk.price(path, said.to_mapping(), known.to_mapping())  # the edit back was overtaken
    assert again["price"] == pytest.approx(first["price"])
    assert "a -> c" in desk.effect(path, said.to_mapping(), "a", "c")


def test_an_arrow_that_only_answers_support_is_marked(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 3))
    x[:, 1] += x[:, 0]
    x[:, 2] += x[:, 1]
    known = Said(answers=(Answered("a", "b", 80, True),))
    model = DrBO(score="bic-nv", random_state=0, knowledge=known.knowledge)
    model.fit(pd.DataFrame(x, columns=list("abc"))).result_.save(tmp_path)
    desk = Desk()
    plain = desk.view(str(tmp_path))
    supported = desk.supported()
    assert ["a", "b"] in supported
    for earned, marked in ((supported, 0), ([], len(supported))):
        view = desk.view(str(tmp_path), earned)
        assert view["kinds"].get(STATED, 0) == marked
        assert view["kinds"]["supported"] == plain["kinds"]["supported"] - marked
        edges = [edge for edge in view["graph"]["edges"] if edge["direction"] == STATED]
        assert [edge["head"] for edge in edges] == ["hollow"] * marked
        assert all("Without your answers" in edge["facts"][0][2] for edge in edges)


def test_contradictions_and_strange_columns_are_refused(place):
    with pytest.raises(KnowledgeError):
        Desk().contradictions(["a", "b"], Said(forbid=(("a", "z"),)).to_mapping())
    with pytest.raises(DataError, match="no column"):
        Desk().table(str(place / "t.csv"), Said(groups="z").to_mapping())


def test_a_data_set_is_written_and_a_network_is_refused(place):
    path = Desk().dataset("sachs", str(place))
    assert Path(path).read_text().count("\n") == 854
    with pytest.raises(DataError, match="without rows"):
        Desk().dataset("alarm", str(place))


def test_an_answer_settles_what_follows_from_it():
    chain = np.zeros((3, 3), bool)
    chain[0, 1] = chain[1, 0] = chain[1, 2] = chain[2, 1] = True
    assert _settled(chain, 0, 1) == 1.5  # 0 -> 1 implies 1 -> 2; 1 -> 0 implies nothing
