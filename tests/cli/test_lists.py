"""Lists as they are typed: every name comes back, and what is no type is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drbo.cli.lists import as_list, listed, parsed_types
from drbo.errors import SettingsError

NAMES = st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(NAMES.filter(lambda name: name == name.strip())))
def test_names_come_back_from_a_list(names):
    assert listed(as_list(names)) == names


def test_what_is_no_type():
    for text, message in (("sex", "column=type"), ("=number", "column=type"), ("a=number,a=category", "twice")):
        with pytest.raises(SettingsError, match=message):
            parsed_types(text)
    assert parsed_types('"a=b, c=number"') == {"a=b, c": "number"}
