from dataclasses import fields

import numpy as np
import pytest

from drbo.claims.record import Claims, Margins
from drbo.data.statistics.square import square, within
from drbo.errors import ResultError
from drbo.result.records import Provenance, Scoring, SearchRecord, Trace, hints_of, required, settled, stored

SIZES = {"d": 2, "t": 3}


def test_annotations_say_which_fields_are_arrays():
    arrays = {name: stored(hint) for name, hint in hints_of(SearchRecord).items()}
    assert arrays["dag"].dimensions == "dd"
    assert arrays["local"].dimensions == "d"
    assert arrays["score"] is None
    assert arrays["trace"] is None
    assert required(hints_of(Claims)["margins"]) == (Margins, True)
    assert set(arrays) == {field.name for field in fields(SearchRecord)}


def test_what_is_kept_is_read_only_and_shares_nothing():
    dag, settings = np.zeros((2, 2)), {"rank": 8}
    kept = settled(SearchRecord(dag=dag, score=np.float64(1), n_evals=np.int64(4)), {"d": 2, "t": 0})
    assert (kept["dag"].dtype, kept["dag"].flags.writeable) == (bool, False)
    assert (type(kept["score"]), type(kept["n_evals"])) == (float, int)
    assert settled(Provenance(settings=settings), SIZES)["settings"] is not settings


def test_an_array_that_nobody_can_write_to_is_kept_as_it_is():
    dag = np.zeros((2, 2), dtype=bool)
    dag.setflags(write=False)
    assert settled(SearchRecord(dag=dag, score=1.0), {"d": 2, "t": 0})["dag"] is dag
    with within(1e-9):
        large = square(2)
    large.setflags(write=False)
    assert settled(Margins(large, large, exact=True), {"d": 2})["removed"] is large  # in a file without a name
    view = np.zeros((2, 2), dtype=bool)[:]
    view.setflags(write=False)  # its base can be written to
    assert settled(SearchRecord(dag=view, score=1.0), {"d": 2, "t": 0})["dag"] is not view


def test_a_wrong_shape_is_named_with_its_place():
    with pytest.raises(ResultError, match=r"trace.n_evals must have shape \(3,\), got \(0,\)"):
        settled(SearchRecord(dag=np.zeros((2, 2)), score=0.0, trace=Trace(best=[1, 2, 3])), SIZES)
    claims = Claims(margins=Margins(np.zeros((2, 2)), np.zeros(2), exact=True))
    with pytest.raises(ResultError, match=r"claims.margins.reversed must have shape \(2, 2\), got \(2,\)"):
        settled(claims, SIZES, "claims.")


def test_options_that_were_arrays_are_known_by_their_shape_alone():
    options = {"penalty": 2.0, "targets": "array (50, 3)", "prior": None}
    scoring = Scoring(name="bge", equivalent=True, options=options, array_options=("targets",))
    assert scoring.plain_options == {"penalty": 2.0, "prior": None}
