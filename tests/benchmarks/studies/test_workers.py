import pytest

from benchmarks.studies import workers


def test_every_place_comes_to_the_same(monkeypatch):
    rows = [workers.timed(name, 40, 4) for name in ("home", "pool 1")]
    assert rows[0]["score"] == rows[1]["score"]
    assert rows[0]["n_local"] == rows[1]["n_local"]


def test_what_is_counted_differs_by_the_seam_alone(monkeypatch):
    made = []
    monkeypatch.setattr(workers, "BATCHES", 2)
    for limit in ("LEAST_SECONDS", "MOST_SECONDS", "PROBE_SECONDS"):  # the child scales them: back afterwards
        monkeypatch.setattr(workers.seam, limit, getattr(workers.seam, limit))
    real = workers.Evaluator
    monkeypatch.setattr(workers, "Evaluator", lambda *given: made.append(real(*given)) or made[-1])
    for kind in ("nothing", "home", "seam"):
        workers.child(kind)
    assert [evaluator.workers is not None for evaluator in made] == [False, False, True]
    assert made[0].n_local == 0
    assert made[1].n_local == made[2].n_local > 100
    assert made[2].workers.n_sent == 0


@pytest.mark.parametrize("kind", ["home", "pool 1"])
def test_places_end_what_they_began(kind):
    with workers.place(kind) as executor:
        assert (executor is None) == (kind == "home")


def test_waiting_workers_come_to_the_same():
    first, second = workers.waiting(workers=(1, 2), wait=0.001, local=10, nodes=4, in_turn=True)
    assert first["score"] == second["score"]
    assert first["n_local"] == second["n_local"] == 10
    assert first["waited"] == second["waited"]
    assert (first["where"], second["where"]) == ("waiting in turn 1", "waiting in turn 2")


def test_what_is_waited_for_is_counted():
    (row,) = workers.waiting(workers=(2,), wait=0.001, local=10, nodes=4, uneven=True)
    assert row["n_local"] == 10
    assert row["waited"] > 0
    assert 0 < row["idle"] < 1
