"""The process that computes: its answers, its refusals, and its end."""

import pytest

from drbo.errors import DataError
from drbo.studio.worker import TaskError, Worker, answered


class Desk:
    def fine(self, a: int) -> int:
        return a + 1

    def bad(self) -> None:
        error = DataError("the column is empty", hint="drop it")
        error.column = "x"
        raise error

    def broken(self) -> None:
        raise RuntimeError("oh")


def test_answers_and_errors_are_told():
    assert answered(Desk(), "fine", (1,)) == (2, None, None, None)
    assert answered(Desk(), "bad", ()) == (None, "the column is empty", "drop it", "x")
    assert answered(Desk(), "broken", ())[1] == "internal error: RuntimeError: oh"


def test_a_worker_that_was_killed_is_started_again():
    worker = Worker()
    try:
        assert worker.ask("question", []) is None
        with pytest.raises(TaskError, match="'b' is a root"):
            worker.ask("contradictions", ["a", "b"], {"require": [["a", "b"]], "roots": ["b"]})
        worker._process.kill()
        worker._process.join()
        assert worker.ask("question", []) is None
    finally:
        worker.close()
