"""What a fit leaves behind, and what is said before there is one."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from drbo import DrBO
from tests import rain
from tests.rain import NAMES


@pytest.mark.parametrize("name", ["result_", "graph_", "adjacency_", "weights_", "score_"])
def test_there_is_no_result_before_a_fit(name):
    model = DrBO()
    with pytest.raises(NotFittedError, match=f"not fitted yet: call fit before reading {name}"):
        getattr(model, name)
    assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="'DrBO' object has no attribute 'resutl_'"):
        model.resutl_  # noqa: B018


def test_attributes_agree_with_each_other():
    frame = rain.frame()
    model = rain.model().fit(frame)
    result = model.result_
    assert (model.adjacency_ == result.dag).all()
    assert model.score_ == result.score
    assert isinstance(model.graph_, nx.DiGraph)
    assert set(model.graph_.edges) == rain.edges(model)
    assert (model.weights_ == result.weights).all()
    assert ((model.weights_ != 0) == result.dag).all()
    for node in np.flatnonzero(result.dag.any(axis=0)):
        parents = np.flatnonzero(result.dag[:, node])
        fit = LinearRegression().fit(frame.to_numpy()[:, parents], frame.to_numpy()[:, node])
        assert model.weights_[parents, node] == pytest.approx(fit.coef_)
    assert model.graph_ is model.graph_
    assert list(model.fit(frame.rename(columns=str.upper)).graph_.nodes) == [name.upper() for name in NAMES]


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        lambda frame: pl.DataFrame({name: frame[name].to_numpy() for name in frame}),
        lambda frame: pa.table({name: frame[name].to_numpy() for name in frame}),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_names_of_a_table_are_kept_everywhere(convert):
    model = rain.model().fit(convert(rain.frame()))
    assert model.result_.names == tuple(NAMES)
    assert model.feature_names_in_.tolist() == NAMES
    assert list(model.graph_.nodes) == NAMES
    assert model.result_.adjacency().columns.tolist() == NAMES
    assert set(model.result_.edges()["source"]) <= set(NAMES)
    assert (model.adjacency_ == rain.model().fit(rain.frame()).adjacency_).all()


@pytest.mark.parametrize("convert", [pd.DataFrame.to_numpy, lambda frame: frame.to_numpy().tolist()])
def test_arrays_and_lists_get_numbered_names(convert):
    model = rain.model().fit(convert(rain.frame()))
    assert model.result_.names == ("x0", "x1", "x2", "x3", "x4")
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 5
    assert (model.adjacency_ == rain.model().fit(rain.frame()).adjacency_).all()
