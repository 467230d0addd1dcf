"""All readers of binary formats are known by name, and need what they say."""

from importlib.util import find_spec

from drbo.data.reading.binary import READERS, loaded


def test_modules_that_are_loaded_before_the_limits_exist():
    missing = {name for _, modules in READERS.values() for name in modules if find_spec(name.partition(".")[0]) is None}
    assert missing <= {"pyarrow.parquet", "pyarrow.ipc", "python_calamine", "duckdb"}  # extras


def test_readers_are_functions_of_the_package():
    assert all(place.startswith("drbo.data.reading.") for place, _ in READERS.values())
    assert all(callable(loaded(reader)) for reader in READERS)
