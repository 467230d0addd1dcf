import json

from drbo.result.words.track_record import FILE, counts, track_record


def test_the_record_is_that_of_the_rows():
    content = json.loads(FILE.read_text())
    assert content["measured"]
    for ground, sources in content["grounds"].items():
        right, total = counts(ground)
        assert total == sum(one["all"] for one in sources.values())
        assert 0 <= right <= total
        words = track_record(ground)
        assert words == "" if total == 0 else words.startswith(f"{right} of {total} such arrows")


def test_what_was_stated_has_no_record():
    assert track_record("given") == ""
