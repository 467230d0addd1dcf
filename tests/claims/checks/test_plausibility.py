"""Names that speak against an arrow, on the route of a fit, and what they must never do."""

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO, Knowledge
from drbo.claims.checks.plausibility import root_kind
from drbo.data.statistics.statistics import Statistics


def _kind(name, values=(31.0, 64.0)):
    return root_kind(Statistics.from_array([[one] for one in values], [name]), 0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("age", "an age"), ("Age (years)", "an age"), ("patient_age", "an age"), ("ageGroup", "an age"),
        ("Edad", "an age"), ("Alter", "an age"), ("возраст", "an age"), ("年龄", "an age"), ("나이", "an age"),
        ("Sex.1", "a sex"),
        ("Geschlecht", "a sex"), ("kön", "a sex"), ("year of birth", "a birth"), ("birthYear", "a birth"),
        ("ethnicity", "a descent"), ("site", "a place"), ("año", ""), ("Année", "a time"), ("month", "a time"),
        ("average", ""), ("dosage", ""), ("age_first_smoked", ""), ("sex_drive", ""), ("income", ""), ("", ""),
        ("17", ""),
    ],
)  # fmt: skip
def test_whole_names_count_not_parts_of_words(name, kind):
    assert _kind(name) == kind


@pytest.mark.parametrize(("name", "values"), [("age", (-1.0, 3.0)), ("age", (5.0, 400.0)), ("year", (1.0, 9999.0))])
def test_numbers_that_cannot_be_what_the_name_says_do_not_count(name, values):
    assert _kind(name, values) == ""


def test_a_sex_has_few_values():
    assert _kind("sex", tuple(map(float, range(9)))) == ""
    assert _kind("sex", (0.0, 1.0)) == "a sex"


def _collider(rng, names):
    a, b, c = rng.normal(size=(3, 900))
    return pd.DataFrame(np.column_stack([a, b, c, 40 + 3 * (a + b + c) + rng.normal(size=900)]), columns=names)


def test_an_arrow_into_an_age_is_assumed_with_the_way_to_state_it_and_stays_as_it_is(rng):
    frame = _collider(rng, ["dose", "weight", "speed", "age"])
    plain = DrBO(score="bic-nv", random_state=0).fit(frame.set_axis(list("abcd"), axis=1)).result_
    assert "class" in {one.ground for one in plain.directions}
    result = DrBO(score="bic-nv", random_state=0).fit(frame).result_
    assert (result.dag == plain.dag).all()
    assert {one.direction for one in result.directions} == {"assumed"}
    assert result.directions[0].sentence.startswith(
        "'age' looks like an age, which nothing in this table can cause. If so, state it: --root \"age\", or "
        "Knowledge(roots=['age'])."
    )


def test_what_was_stated_stays_supported(rng):
    frame = _collider(rng, ["dose", "weight", "speed", "age"])
    known = Knowledge(required=["dose -> age"])
    result = DrBO(score="bic-nv", knowledge=known, random_state=0).fit(frame).result_
    found = {(one.cause, one.effect): one.ground for one in result.directions}
    assert found["dose", "age"] == "given"


def test_arrows_among_such_columns_are_left_alone(rng):
    result = DrBO(score="bic-nv", random_state=0).fit(_collider(rng, ["race", "birth", "site", "age"])).result_
    assert not [one for one in result.claims.denials if one.claim == "plausibility"]
