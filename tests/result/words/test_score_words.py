from drbo.result.words.score_words import MODEL, words_of
from drbo.scores.registry import SCORES


def test_every_score_that_has_words_is_there_and_speaks_in_sentences():
    assert set(MODEL) <= set(SCORES)
    assert all(text.endswith(".") for score in SCORES for text in words_of(score))
