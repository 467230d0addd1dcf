"""Questions for experts: which edges are asked about, and how the answer reaches the program."""

import ast
import shlex

from drbo.claims.directions import EdgeDirection
from drbo.constraints import Constraints
from drbo.knowledge import Knowledge
from drbo.result.words.questions import SHOWN_QUESTIONS, TIERS, questions


def _edge(cause, effect, direction="assumed", contradicted=False):
    return EdgeDirection(cause, effect, direction, "", contradicted, "", None, None)


def test_supported_arrows_raise_no_question():
    assert questions([_edge("a", "b", "supported")]) == ()


def test_the_doubtful_come_first_and_long_lists_are_cut():
    edges = [_edge("a", "b", "open"), _edge("c", "d"), _edge("e", "f", contradicted=True), _edge("g", "h")]
    found = questions(edges)
    assert [text.split(" can ")[0] for text in found] == [
        "Which of 'e' and 'f'",
        "Which of 'c' and 'd'",
        "Which of 'g' and 'h'",
        TIERS.split(" can ")[0],
    ]
    assert len(found) == SHOWN_QUESTIONS + 1


def test_the_options_carry_the_answer():
    (text,) = questions([_edge("it's", "wet street")])
    words = shlex.split(text[text.index("--forbid") :].replace("; if only 'wet street' can, add", "").rstrip("."))
    assert words == ["--forbid", "wet street->it's", "--forbid", "it's->wet street"]
    known = Constraints.of(Knowledge.from_strings(forbid=[words[1]]), ["it's", "wet street"])
    assert known.allowed[0, 1]
    assert not known.allowed[1, 0]


def test_in_python_the_answer_is_a_parameter():
    (text,) = questions([_edge("it's", "wet")], in_python=True)
    words = text[text.index("knowledge=") + len("knowledge=") : text.index("; if only")]
    assert ast.literal_eval(words) == {"forbidden": [("wet", "it's")]}
    assert "--" not in " ".join(questions([_edge("a", "b"), _edge("c", "d")], in_python=True))
