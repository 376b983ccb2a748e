"""What holds for every option of ``sampling``: reproducible draws, states that continue exactly, refused input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kimina.data.sampling import SAMPLERS, Outcome, Problem, make_sampler
from kimina.errors import UserError

#: Settings under which twelve steps of six rows of twelve reach every branch.
VARIANTS = [
    ("uniform", {}),
    ("curriculum", {"warmup_steps": 3, "hard_share": 0.3}),
    ("curriculum", {"warmup_steps": 2, "difficulty": "row", "hard_threshold": 3.0}),
    ("curriculum", {"schedule": "linear", "start_share": 0.2, "end_step": 8, "window": 2}),
    ("prioritized", {}),
    ("prioritized", {"window": 2, "floor": 0.1, "prior_successes": 0, "prior_attempts": 2.5}),
    ("solved_pruning", {"times": 1, "revisit_share": 0.2}),
    ("solved_pruning", {"times": 2, "revisit_share": 0}),
]
every = pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=lambda value: value if isinstance(value, str) else None)


def test_every_sampler_is_tried():
    assert {name for name, _ in VARIANTS} == set(SAMPLERS)


@every
def test_draws_depend_on_seed_and_history_alone(sampler, train, name, settings):
    one, two, other = (sampler(name, seed=seed, **settings) for seed in (1, 1, 2))
    assert train(one, 1, 12) == train(two, 1, 12)
    assert train(other, 1, 12) != train(one, 13, 24)
    assert one.state() != two.state() and one.metrics() != two.metrics()


@every
def test_a_sampler_restored_from_its_state_goes_on_exactly(sampler, train, through_json, name, settings):
    whole = sampler(name, **settings)
    drawn = train(whole, 1, 12)
    for step in range(13):
        before, after = sampler(name, **settings), sampler(name, **settings)
        train(before, 1, step)
        # What a sampler has seen before doesn't matter.
        train(after, 1, 2)
        after.load_state(through_json(before.state()))
        assert after.state() == before.state() and after.metrics() == before.metrics()
        assert train(after, step + 1, 12) == drawn[step:]
        assert after.state() == whole.state() and after.metrics() == whole.metrics()


@every
def test_a_state_in_the_middle_of_a_step(sampler, train, through_json, name, settings):
    one, two = sampler(name, **settings), sampler(name, **settings)
    train(one, 1, 5)
    one.draw(6, 3)
    two.load_state(through_json(one.state()))
    assert two.draw(6, 4) == one.draw(6, 4)


@every
def test_two_draws_of_a_step_are_one(sampler, train, name, settings):
    one, two, three = (sampler(name, **settings) for _ in range(3))
    for each in (one, two, three):
        train(each, 1, 7)
    parts = [*one.draw(8, 1), *one.draw(8, 4), *one.draw(8, 20)]
    assert parts == two.draw(8, 25) == [row for _ in range(25) for row in three.draw(8, 1)]
    assert one.state() == two.state() == three.state()


@every
def test_figures(sampler, train, name, settings):
    it = sampler(name, **settings)
    assert it.draw(1, 0) == []
    fresh = it.metrics()
    assert (fresh["epoch"], fresh["never_drawn"]) == (0, 1) and "success_rate" not in fresh
    rows = it.draw(1, 6)
    it.record(1, [Outcome(rows[0], 4, 1), Outcome(rows[1], 0, 0)])
    it.record(1, [Outcome(rows[2], 2, 2)])
    figures = it.metrics()
    assert (figures["epoch"], figures["success_rate"]) == (0.5, 0.5)
    assert figures["never_drawn"] == pytest.approx(1 - len(set(rows)) / 12)
    train(it, 2, 12)
    assert 1 <= it.metrics()["pool_size"] <= 12
    assert all(type(value) is float for value in it.metrics().values())


@every
def test_samples_that_nobody_judged_change_nothing_that_is_drawn(sampler, name, settings):
    one, two = sampler(name, **settings), sampler(name, **settings)
    for step in range(1, 10):
        rows = one.draw(step, 6)
        assert rows == two.draw(step, 6)
        one.record(step, [Outcome(row, 0, 0) for row in rows])
    assert "success_rate" not in one.metrics()


@every
def test_a_batch_larger_than_the_training_set(sampler, name, settings):
    it = sampler(name, rows=3, **settings)
    assert sorted(it.draw(1, 6)) == [0, 0, 1, 1, 2, 2] or name == "curriculum"
    assert sampler(name, rows=1, **settings).draw(1, 4) == [0] * 4


@every
def test_a_state_of_something_else_is_refused(sampler, problems, name, settings):
    it = sampler(name, **settings)
    others = {
        "seed": sampler(name, seed=2, **settings),
        "problems": sampler(name, rows=11, **settings),
        "option": sampler("uniform" if name != "uniform" else "prioritized"),
    }
    renamed = make_sampler({"name": name, **settings}, [Problem(f"q{i}", float(i % 5)) for i in range(12)], 1)
    for what, other in [*others.items(), ("problems", renamed)]:
        with pytest.raises(UserError, match=f"of another run \\(its {what} differs"):
            it.load_state(other.state())


def test_a_state_of_other_settings_is_refused(sampler):
    with pytest.raises(UserError, match="its settings differs"):
        sampler("prioritized", floor=0.1).load_state(sampler("prioritized").state())


@every
def test_a_state_stays_small_with_a_large_training_set(problems, name, settings):
    it = make_sampler({"name": name, **settings}, problems(100_000), 1)
    for step in range(1, 6):
        rows = it.draw(step, 2048)
        it.record(step, [Outcome(row, 8, row % 9) for row in rows])
    # The trainer's own checkpoint has gigabytes; a state as plain numbers would have a megabyte.
    assert len(json.dumps(it.state())) < 150_000


@every
def test_rows_and_counts_that_cannot_be(sampler, name, settings):
    it = sampler(name, **settings)
    for row in (-1, 12):
        with pytest.raises(ValueError, match="row"):
            it.record(1, [Outcome(row, 1, 0)])
    with pytest.raises(ValueError, match="3 successes of 2"):
        Outcome(0, 2, 3)
    with pytest.raises(ValueError):
        Outcome(0, 2, -1)
    with pytest.raises(ValueError):
        it.draw(1, -1)
    with pytest.raises(UserError, match="no rows to draw from"):
        make_sampler({"name": name, **settings}, [], 1)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"name": "prioritised"}, ["sampling=prioritised: there is no such option", "type: sampling=prioritized"]),
        ({}, ["sampling=None"]),
        ({"name": "uniform", "floor": 0.1}, ["sampling.floor", "no keys"]),
        ({"name": "prioritized", "flor": 0.1}, ["sampling.flor", "sampling.floor"]),
        ({"name": "prioritized", "floor": 1.5}, ["sampling.floor=1.5", "less than or equal to 1"]),
        ({"name": "prioritized", "floor": "0.1"}, ["sampling.floor=0.1", "valid number"]),
        ({"name": "prioritized", "window": 0}, ["sampling.window=0"]),
        ({"name": "prioritized", "prior_attempts": 0}, ["sampling.prior_attempts=0"]),
        ({"name": "prioritized", "prior_successes": 2}, ["sampling: prior_successes=2 of prior_attempts=1 is no rate"]),
        ({"name": "curriculum", "schedule": "easy"}, ["sampling.schedule=easy", "'linear'"]),
        ({"name": "curriculum", "hard_share": 0}, ["sampling.hard_share=0"]),
        ({"name": "curriculum", "hard_threshold": float("nan")}, ["sampling.hard_threshold=nan"]),
        ({"name": "solved_pruning", "times": 0}, ["sampling.times=0"]),
        ({"name": "solved_pruning", "revisit_share": 1}, ["sampling.revisit_share=1"]),
    ],
)
def test_a_users_mistake_is_named(problems, node, words):
    with pytest.raises(UserError) as caught:
        make_sampler(node, problems(3), 1)
    for word in words:
        assert word in str(caught.value)


def test_the_module_is_light():
    """The configuration reads it, long before anything trains."""
    code = "import sys, kimina.data.sampling, kimina.data.repair_buffer; assert not {'torch', 'verl', 'ray'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).resolve().parents[3])
