"""Columns that nothing can cause are recognised by name, and others are left alone."""

import pytest

from drbo.data.checks.roots import likely_roots


@pytest.mark.parametrize(
    "name", ["age", "AGE", "age_years", "ageAtBaseline", "Sex", "gender", "year", "dob", "date of birth"]
)
def test_what_is_fixed_at_birth_or_by_the_calendar(name):
    assert likely_roots([name]) == [name]


@pytest.mark.parametrize(
    "name", ["stage", "dosage", "birth weight", "sexual_risk", "years_of_school", "age_at_death", "x", ""]
)
def test_other_columns(name):
    assert likely_roots([name]) == []
