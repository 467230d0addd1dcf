"""When a run has to end."""

import math
import threading
import time

import numpy as np
import pytest

from drbo.deadline import INTERRUPTED, Deadline, OutOfTimeError, current, grace, no_deadline


def test_a_deadline_holds_for_all_that_is_called_inside():
    assert current().left() == math.inf
    with Deadline(60) as outer:
        assert current() is outer
        with Deadline(30) as inner:
            assert current() is inner
            assert 29 < inner.left() <= 30
        assert current() is outer
        assert 59 < outer.left() <= 60
    assert current().left() == math.inf


def test_the_limit_is_told_as_it_was_given():
    deadline = Deadline(0.5, start=time.monotonic() - 1)
    assert deadline.reason.words == "time limit of 0.5 s reached"
    assert deadline.left() == 0
    with pytest.raises(OutOfTimeError, match=r"time limit of 0\.5 s"):
        deadline.check()


def test_an_inner_deadline_ends_with_the_outer_one_and_not_the_other_way_round():
    with Deadline(60) as outer, Deadline(30) as inner:
        inner.stop()
        assert (inner.interrupted, inner.reason, outer.reason) == (True, INTERRUPTED, None)
    with Deadline(60) as outer, Deadline(90) as inner:
        assert inner.left() <= 60
        outer.stop()
        assert inner.reason == INTERRUPTED


def test_the_flag_is_set_by_itself_while_nobody_looks():
    with Deadline(0.1) as outer, Deadline() as inner:
        end = time.monotonic() + 20
        while not (inner.flag.is_set and outer.flag.is_set) and time.monotonic() < end:
            time.sleep(0.01)
        assert inner.flag.is_set
        assert outer.flag.is_set
    assert inner.reason.words == "time limit of 0.1 s reached"


def test_the_thread_that_sets_the_flag_ends_with_the_deadline():
    before = threading.active_count()
    with Deadline(1000.0):
        assert threading.active_count() == before + 1
    end = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() == before
    with Deadline():  # nothing to wait for
        assert threading.active_count() == before


def test_a_limit_can_be_set_later():
    with Deadline() as deadline:
        assert deadline.left() == math.inf
        deadline.limit(5.0, start=time.monotonic() - 10)
        assert deadline.reason.words == "time limit of 5 s reached"


def test_the_least_time_is_given_unless_somebody_asks_to_stop():
    with Deadline(0.0) as outer:
        patient = Deadline(least=60)
        assert outer.over()
        assert not patient.over()
        outer.stop()
        assert patient.reason == INTERRUPTED


def test_time_is_kept_back_before_the_end_of_whatever_ends_first():
    with Deadline(10.0) as outer, Deadline(60.0) as inner:
        inner.keep_back(4.0)
        assert 5 < inner.left() <= 6
        assert outer.left() > 9
        inner.keep_back(7.0)
        assert inner.reason.words == "time limit of 60 s reached"
    free = Deadline()
    free.keep_back(5.0)
    assert free.left() == math.inf


def test_words_tell_the_limit_around_where_there_is_no_own():
    with Deadline(10.0), Deadline() as inner:
        inner.keep_back(11.0)
        assert inner.reason.words == "time limit of 10 s reached"


def test_a_promise_is_known_outside():
    with Deadline() as outer, Deadline() as inner:
        inner.promise()
        assert outer.has_answer


def test_what_cannot_be_left_out_has_no_deadline():
    with Deadline(0.0) as deadline:
        with no_deadline():
            assert current().left() == math.inf
        assert current() is deadline


def test_out_of_time_is_an_interrupt():
    assert issubclass(OutOfTimeError, KeyboardInterrupt)  # whoever keeps what is known after Ctrl-C does so here, too


def test_the_grace_of_a_limit():
    assert np.allclose([grace(1.0), grace(20.0), grace(30.0)], [2.0, 2.0, 3.0])
