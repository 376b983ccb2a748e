"""Uniform sampling: every row once an epoch, in verl's own order."""

from collections import Counter

import pytest


def test_an_epoch_has_every_row_once_and_a_batch_may_cross_its_end(sampler):
    it = sampler("uniform", rows=10)
    drawn = [row for step in range(1, 8) for row in it.draw(step, 4)]
    epochs = [drawn[:10], drawn[10:20], drawn[20:]]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(10)) and len(set(epochs[2])) == 8
    assert epochs[0] != epochs[1] and it.metrics()["epoch"] == 2.8 and it.metrics()["pool_size"] == 10


def test_after_any_number_of_draws_counts_differ_by_one_at_most(sampler):
    it, counts = sampler("uniform", rows=7), Counter(range(7))
    for step in range(1, 40):
        counts.update(it.draw(step, 3))
        assert max(counts.values()) - min(counts.values()) <= 1


def test_orders_are_equally_probable(sampler, plausible):
    orders = Counter(tuple(sampler("uniform", rows=3, seed=seed).draw(1, 3)) for seed in range(3000))
    assert len(orders) == 6 and all(plausible(count, 3000, 1 / 6) for count in orders.values())


@pytest.mark.parametrize(("rows", "batch", "seed"), [(12, 4, 1), (97, 8, 3), (2000, 24, 2**32 - 1)])
def test_prompts_are_those_of_verls_own_sampler(sampler, rows, batch, seed):
    """So that runs from before this option had another one beside it keep their prompts."""
    from omegaconf import OmegaConf
    from torchdata.stateful_dataloader import StatefulDataLoader
    from verl.trainer.ppo.utils import create_rl_sampler

    data = list(range(rows))
    verls = create_rl_sampler(OmegaConf.create({"shuffle": True, "seed": seed}), data)
    loader = StatefulDataLoader(dataset=data, batch_size=batch, drop_last=True, num_workers=0, collate_fn=list, sampler=verls)
    it = sampler("uniform", rows=rows, seed=seed)
    step = 0
    for _ in range(3):
        for expected in loader:
            step += 1
            assert it.draw(step, batch) == expected
        # verl leaves out what doesn't fill a batch.
        it.draw(step, rows % batch)
