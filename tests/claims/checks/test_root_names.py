from drbo.claims.checks.root_names import BESIDE, ROOT_NAMES


def test_every_word_is_in_lower_case_and_means_one_thing():
    words = [word for known in ROOT_NAMES.values() for word in known]
    assert len(set(words)) == len(words)
    assert all(word == word.lower() and word.isalpha() for word in words)
    assert BESIDE & set(words) == {"year"}  # "year of birth" is a birth, "year" a time
