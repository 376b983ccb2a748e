"""The repair buffer: what is kept, what a batch's places get, and a state that goes on exactly."""

import json
import random
from collections import Counter, deque

import pytest
from scipy.stats import binom

from kimina.data.repair_buffer import CORRECTIONS, RepairBuffer, make_repair_buffer
from kimina.data.repair_entry import RepairEntry
from kimina.errors import UserError


def entry(number, step=1):
    return RepairEntry(number, f"theorem t{number} : True := by", f"```lean4\n{number}\n```", "# Error 1", step, f"k{number}")


def buffer(name="replay", seed=1, **settings) -> RepairBuffer:
    return make_repair_buffer({"name": name, **settings}, seed)


def rows(drawn):
    return [each.row for each in drawn if each is not None]


def plausible(hits, draws, probability):
    low, high = binom.ppf([5e-7, 1 - 5e-7], draws, probability)
    return low <= hits <= high


def test_an_empty_buffer_leaves_every_place_to_a_fresh_prompt():
    for name in CORRECTIONS:
        assert buffer(name).draw(1, 4) == [None] * 4 and buffer(name).draw(1, 0) == []


def test_the_oldest_entry_makes_room():
    it = buffer(capacity=3, probability=1)
    it.add([entry(number) for number in range(5)])
    assert len(it) == 3 and sorted(rows(it.draw(2, 3))) == [2, 3, 4]
    figures = it.metrics()
    assert (figures["size"], figures["added"], figures["pushed_out"], figures["drawn"]) == (3, 5, 2, 3)


def test_what_stays_is_what_a_deque_of_that_length_holds():
    it, reference, rng = buffer(capacity=7, probability=1), deque(maxlen=7), random.Random(3)
    for step in range(1, 30):
        new = [entry(100 * step + i, step) for i in range(rng.randrange(5))]
        it.add(new)
        reference.extend(new)
        assert sorted(rows(it.draw(step, 9))) == sorted(each.row for each in reference)


def test_each_place_is_a_fix_turn_with_the_probability():
    it = buffer(probability=0.3)
    it.add([entry(number) for number in range(100)])
    places = [it.draw(step, 10) for step in range(1, 401)]
    assert plausible(len([1 for batch in places for each in batch if each is not None]), 4000, 0.3)
    for place in range(10):
        assert plausible(sum(batch[place] is not None for batch in places), 400, 0.3)


def test_the_draws_of_a_step_are_independent():
    it = buffer(probability=0.5)
    it.add([entry(number) for number in range(2000)])
    filled = sum(it.draw(2, 1) != [None] for _ in range(1000))
    assert plausible(filled, 1000, 0.5)


def test_entries_are_drawn_equally_often_and_stay():
    it = buffer(probability=0.5)
    it.add([entry(number) for number in range(8)])
    counts = Counter(row for step in range(1, 3001) for row in rows(it.draw(step, 2)))
    total = counts.total()
    assert plausible(total, 6000, 0.5) and len(it) == 8
    assert all(plausible(counts[number], total, 1 / 8) for number in range(8))


def test_no_entry_comes_twice_in_a_step():
    it = buffer(probability=1)
    it.add([entry(number) for number in range(5)])
    batch = [*it.draw(2, 3), *it.draw(2, 4)]
    assert sorted(rows(batch)) == [0, 1, 2, 3, 4] and batch.count(None) == 2
    assert len(rows(it.draw(3, 5))) == 5


def test_a_drawn_entry_leaves_where_that_is_asked():
    it = buffer(probability=1, remove_drawn=True)
    it.add([entry(number) for number in range(5)])
    first, second = rows(it.draw(2, 3)), rows(it.draw(3, 3))
    assert sorted(first + second) == [0, 1, 2, 3, 4] and len(it) == 0
    assert it.draw(4, 2) == [None, None]


def test_batched_replay_fills_exactly_its_share_with_failures_of_the_last_step():
    it = buffer("batched_failure_replay", share=0.5)
    it.add([entry(number, step=1) for number in range(500)])
    batch = it.draw(2, 20)
    assert [each is not None for each in batch] == [False, True] * 10
    it.add([entry(1000 + number, step=2) for number in range(3)])
    batch = it.draw(3, 20)
    assert sorted(rows(batch)) == [1000, 1001, 1002] and batch.count(None) == 17
    assert (len(it), it.metrics()["expired"]) == (3, 500)
    assert it.draw(4, 20) == [None] * 20 and it.metrics()["expired"] == 503


@pytest.mark.parametrize(("share", "places", "expected"), [(0.29, 100, 29), (1 / 3, 10, 3), (1.0, 7, 7), (0.5, 1000, 500)])
def test_the_share_is_exact_over_all_draws_of_a_step(share, places, expected):
    it = buffer("batched_failure_replay", share=share)
    it.add([entry(number, step=1) for number in range(600)])
    parts = [each for _ in range(places) for each in it.draw(2, 1)]
    assert len(rows(parts)) == expected
    assert len(rows(it.draw(3, places))) == 0  # two steps old


def test_entries_may_be_kept_for_more_steps():
    it = buffer("batched_failure_replay", share=1.0, max_age=3)
    it.add([entry(1, step=1), entry(2, step=2)])
    assert [sorted(rows(it.draw(step, 2))) for step in (3, 4, 5, 6)] == [[1, 2], [1, 2], [2], []]


def test_reasons_are_counted():
    it = buffer()
    for outcome in ("solved", entry(1), "unverified", "solved", entry(1)):
        it.offer(outcome)
    it.note_dropped("no_lean_code")
    figures = it.metrics()
    reasons = {name.removeprefix("dropped/"): count for name, count in figures.items() if name.startswith("dropped/")}
    assert reasons == {"solved": 2, "unverified": 1, "duplicate": 1, "no_lean_code": 1}
    assert (figures["dropped"], figures["added"], figures["size"]) == (5, 1, 1)


def test_ages_are_in_steps():
    it = buffer(probability=1)
    assert not {"age_mean", "age_max", "drawn_age_mean"} & set(it.metrics())
    it.add([entry(1, step=2), entry(2, step=5), entry(3, step=8)])
    it.draw(10, 3)
    figures = it.metrics()
    assert (figures["age_mean"], figures["age_max"], figures["drawn_age_mean"]) == (5, 8, 5)
    it.draw(11, 0)
    assert "drawn_age_mean" not in it.metrics()
    assert all(type(value) is float for value in it.metrics().values())


VARIANTS = [
    ("replay", {"capacity": 9}),
    ("replay", {"capacity": 9, "probability": 0.8, "remove_drawn": True}),
    ("replay", {"probability": 0.2, "max_age": 2}),
    ("batched_failure_replay", {"share": 0.3}),
]


def rehearse(it, first, last):
    """Draw, refill and offer as a trainer does; what fails is a function of the step."""
    drawn = []
    for step in range(first, last + 1):
        drawn.append([*it.draw(step, 6), *it.draw(step, 2)])
        rng = random.Random(step)
        for number in range(rng.randrange(6)):
            it.offer(entry(10 * step + number, step) if rng.random() < 0.8 else "no_lean_code")
    return drawn


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_a_buffer_restored_from_its_state_goes_on_exactly(name, settings):
    whole = buffer(name, **settings)
    drawn = rehearse(whole, 1, 12)
    assert any(each is not None for batch in drawn for each in batch)
    for step in range(13):
        before, after = buffer(name, **settings), buffer(name, **settings)
        rehearse(before, 1, step)
        rehearse(after, 1, 3)
        after.load_state(json.loads(json.dumps(before.state(), allow_nan=False)))
        assert after.state() == before.state() and after.metrics() == before.metrics()
        assert rehearse(after, step + 1, 12) == drawn[step:]
        assert after.state() == whole.state() and after.metrics() == whole.metrics()


def test_a_state_within_a_step_knows_what_the_step_has_drawn():
    one, two = buffer(probability=1), buffer(probability=1)
    one.add([entry(number) for number in range(6)])
    first = rows(one.draw(2, 4))
    two.load_state(json.loads(json.dumps(one.state())))
    assert one.draw(2, 4) == (rest := two.draw(2, 4)) and sorted([*first, *rows(rest)]) == list(range(6))


def test_another_seed_draws_otherwise():
    drawn = []
    for seed in (1, 2, 1):
        it = buffer(seed=seed)
        it.add([entry(number) for number in range(50)])
        drawn.append(it.draw(2, 30))
    assert drawn[0] != drawn[1] and drawn[0] == drawn[2]


def test_a_state_of_something_else_is_refused():
    it = buffer()
    it.add([entry(1)])
    for other in (buffer(capacity=4), buffer(seed=2), buffer("batched_failure_replay")):
        with pytest.raises(UserError, match="of another run"):
            other.load_state(it.state())
        assert len(other) == 0


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"name": "none"}, ["correction=none: there is no such option"]),
        ({"name": "replay", "share": 0.5}, ["correction.share"]),
        ({"name": "replay", "probabilty": 0.5}, ["correction.probabilty", "correction.probability"]),
        ({"name": "replay", "probability": 0}, ["correction.probability=0"]),
        ({"name": "replay", "capacity": 0}, ["correction.capacity=0"]),
        ({"name": "replay", "history": "all"}, ["correction.history=all", "'code_only'"]),
        ({"name": "batched_failure_replay", "share": 1.1}, ["correction.share=1.1"]),
        ({"name": "batched_failure_replay", "max_age": 0}, ["correction.max_age=0"]),
    ],
)
def test_a_users_mistake_is_named(node, words):
    with pytest.raises(UserError) as caught:
        make_repair_buffer(node, 1)
    for word in words:
        assert word in str(caught.value)


def test_places_cannot_be_negative():
    with pytest.raises(ValueError):
        buffer().draw(1, -1)
