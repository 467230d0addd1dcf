import numpy as np

from drbo.data.units import standardized, unit_free


def test_standardised_columns_are_the_same_to_the_last_bit_in_other_units(rng):
    values = rng.normal(size=(200, 6)) + 5.0
    assert np.array_equal(unit_free(values), unit_free(values * 10.0 ** rng.uniform(-2, 2, size=6)))
    assert np.array_equal(standardized(np.ones((4, 1))), np.zeros((4, 1)))
