"""A judgement in words: each verdict follows from its figures."""

import json
from dataclasses import replace

import pytest

from drbo.result.judgement import LEAST, Judgement

FOUND = Judgement(
    names=("a", "b", "c"), n_rows=100, n_edges=2, score_name="bic-nv", score=-10.0, empty_score=-20.0,
    random_scores=(-15.0,) * 99, random_share=0.01, test="fisher-z", n_claims=4, n_violations=1, n_discoveries=0,
    tested=True, worst=({"node": "a", "other": "c", "given": ["b"], "p": 0.03},), n_permutations=100,
    permuted_violations=(4,) * 100, markov_share=0.01, class_share=0.02,
    penalties=({"source": "a", "target": "b", "linked_up_to": 64.0, "directed_up_to": None},),
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "verdicts", "words"),
    [
        ({}, (True, True, False), ["rank 1 of 100", "better than chance", "not falsified", "a and c given b: p 0.03"]),
        ({"random_share": 0.4}, (False, True, False), ["no better than chance"]),
        ({"markov_share": 0.3}, (True, True, True), ["falsified: permuted graphs explain"]),
        ({"class_share": 0.5, "markov_share": 0.3}, (True, False, False), ["no verdict"]),
        ({"n_permutations": LEAST - 1}, (True, False, False), ["too few to tell: time ran out"]),
        ({"tested": False, "n_permutations": 0}, (True, False, False), ["not tested: time ran out"]),
        ({"n_claims": 0, "n_permutations": 0}, (True, False, False), ["implies no independence"]),
    ],
)
def test_verdicts_and_their_words(changes, verdicts, words):
    found = replace(FOUND, **changes)
    assert (found.beats_random, found.informative, found.falsified) == verdicts
    assert all(each in found.summary() for each in words)


def test_edges_on_the_penalty_path():
    assert "a -> b: 64 or more, direction undetermined" in FOUND.summary()
    lost = replace(FOUND, penalties=({**FOUND.penalties[0], "linked_up_to": None},))
    assert "a -> b: not found again" in lost.summary()


def test_plain_values_fit_for_json():
    assert json.loads(json.dumps(FOUND.to_dict(), allow_nan=False))["beats_random"] is True
