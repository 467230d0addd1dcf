"""Results of version 0.1. The files in saved/0.1 were written by it and must never be written again."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from drbo import DrBO
from drbo.errors import ResultError
from drbo.result.files.format_1 import renamed_settings
from drbo.result.result import Result
from drbo.settings import Settings
from tests.results import assert_same

SAVED = Path(__file__).parent / "saved" / "0.1"


def changed(folder, **changes):
    """Copy the files of version 0.1 with other entries; None leaves one out."""
    shutil.copytree(SAVED, folder)
    content = json.loads((SAVED / "result.json").read_text()) | changes
    kept = {key: value for key, value in content.items() if value is not None}
    (folder / "result.json").write_text(json.dumps(kept))
    return folder


def test_a_result_that_version_0_1_wrote_still_opens():
    result = Result.load(SAVED)
    assert result.names == ("rain", "wet", "slip", "sun")
    assert np.argwhere(result.dag).tolist() == [[0, 1], [1, 2]]
    assert result.confidence.n == 8
    assert "drbo fit chain.csv --score bic-nv" in result.call
    assert "2 directed and 0 undirected edges" in result.summary()
    again = DrBO.like(result).get_params()
    assert (again["score"], again["random_state"], again["knowledge"].required) == ("bic-nv", 0, (("rain", "wet"),))


def test_all_that_it_holds_is_found_in_the_records():
    content = json.loads((SAVED / "result.json").read_text())
    result = Result.load(SAVED)
    with np.load(SAVED / "result.npz") as arrays:
        found = [result.search.dag, -result.search.local, result.margins.removed, result.margins.reversed]
        # Local values are better if higher now.
        names = ("searched_dag", "local", "margin_removed", "margin_reversed")
        for name, array in zip(names, found, strict=True):
            np.testing.assert_array_equal(array, arrays[name])
        np.testing.assert_array_equal(result.posterior, arrays["posterior"])
        np.testing.assert_array_equal(result.confidence.path, arrays["path_frequency"])
        np.testing.assert_array_equal(result.trace["best"], arrays["trace_best"])
    insight = content["insight"]
    assert vars(result.proof) == insight["certificate"]
    assert (result.claims.over, result.claims.prior, result.margins.exact) == ("all DAGs", "every DAG alike", True)
    assert [(one.score, one.behind, [list(edge) for edge in one.edges]) for one in result.top] == [
        (one["score"], one["behind"], one["edges"]) for one in insight["top"]
    ]
    assert result.scoring.options == content["score_options"]
    assert result.table.audit.columns[1].mean == content["preflight"]["columns"][1]["mean"]
    assert result.table.audit.findings[0].text == content["preflight"]["findings"][0]["text"]
    assert (result.search.n_local, result.seed, result.table.sha256) == (100, 0, content["data_hash"])
    assert result.provenance.versions == content["versions"]
    assert result.knowledge.to_mapping() == content["knowledge"]


def test_it_is_saved_in_the_present_format(tmp_path):
    result = Result.load(SAVED)
    assert_same(Result.load(result.save(tmp_path)), result)
    assert json.loads((tmp_path / "result.json").read_text())["version"] == 2


def test_settings_have_their_present_names(tmp_path):
    before = {"route": "networks", "proposals": "region", "rank": 3}
    folder = changed(tmp_path / "run", settings=before, reasons=[])
    assert Result.load(folder).settings == {"route": "paper", "paper": {"rank": 3}, "parts": {}}


def test_a_result_without_insight_opens(tmp_path):
    result = Result.load(changed(tmp_path / "run", insight={}, preflight={}))
    assert (result.proof, result.top, result.table.audit.columns) == (None, (), ())
    assert not result.margins.exact


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": None}, "no entry 'search.score'"),
        ({"score": "1"}, "'search.score' must be float"),
        ({"insight": None}, "'insight' must be dict, got None"),
        ({"insight": [1]}, "'insight' must be dict"),
        ({"insight": {"top": [{"score": 1}]}}, r"no entry 'claims.classes\[0\].behind'"),
        ({"insight": {"certificate": {"upper_bound": "x"}}}, "'proof.upper_bound' must be float"),
        ({"preflight": {"columns": [{"name": "rain"}]}}, r"no entry 'table.audit.columns\[0\].kind'"),
        ({"resampling": {}}, "no entry 'confidence.n'"),
        ({"resampling": {"names": ["a", "b", "c", "d"], "n": 1}}, "about other variables"),
        ({"optional_arrays": []}, "bytes, but at most|must contain"),
        ({"names": None}, "'names' must be list"),
        ({"reasons": [1], "settings": {"proposals": "climb"}}, r"'reasons\[0\]' must be str"),
    ],
)
def test_what_was_changed_is_refused(tmp_path, changes, message):
    with pytest.raises(ResultError, match=message):
        Result.load(changed(tmp_path / "run", **changes))


@pytest.mark.parametrize(
    ("recorded", "reason", "route"),
    [
        ({"route": "auto", "proposals": "climb"}, "route: climbs over orders, compiled for this score", "orders"),
        ({"route": "auto", "proposals": "climb"}, "route: networks, as a local score takes 8.1 ms", "surrogate"),
        ({"route": "auto", "proposals": "region"}, "route: networks, as the number of evaluations is", "paper"),
        ({"route": "auto", "proposals": "region"}, "route: climbs over orders, compiled for this score", "orders"),
        ({"route": "networks", "proposals": "climb"}, "", "surrogate"),
        ({"route": "networks", "proposals": "region"}, "", "paper"),
        ({"route": "auto", "proposals": "climb"}, "", "auto"),
        ({"route": "surrogate"}, "route surrogate: the number of evaluations is limited", "surrogate"),
    ],
)
def test_settings_of_version_0_1_have_the_route_that_was_taken(recorded, reason, route):
    found = Settings.from_dict(renamed_settings(recorded | {"rank": 3}, ["score gp: chosen", reason]))
    assert found == Settings(route=route).with_(rank=3)


def test_settings_of_version_0_1_find_their_places():
    recorded = {"route": "networks", "proposals": "climb", "surrogate": "none", "n_draws": 5, "polish": False}
    found = Settings.from_dict(renamed_settings(recorded, []))
    assert found == Settings(route="surrogate", climbs=5).with_(surrogate=False, polish=False, n_draws=5)
