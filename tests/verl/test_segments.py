"""Responses in segments: the client against a stand-in for an engine, and the iterations that responses wait for."""

import asyncio
from types import SimpleNamespace

import pytest
from verl.workers.rollout.llm_server import LLMServerClient, TokenOutput

from kimina.generation.repetition import RepetitionRule
from kimina.verl.rollout_record import RolloutRecord, earlier_tokens
from kimina.verl.segments import Iterations, SegmentedClient, SegmentRules

STOP = 99


class Engine:
    """Says a fixed text token by token, whatever stands before; ``interrupt_at`` are positions at which it is interrupted."""

    def __init__(self, text, prompt=3, interrupt_at=()):
        self.text, self.prompt, self.interrupt_at, self.version, self.asked = text, prompt, list(interrupt_at), 0, []

    async def generate(self, client, *, request_id, prompt_ids, sampling_params, **other):
        start, limit = len(prompt_ids) - self.prompt, sampling_params["max_tokens"]
        self.asked.append((start, limit))
        assert prompt_ids[self.prompt :] == self.text[:start]
        end = min(start + limit, len(self.text))
        reason = "completed"  # as vLLM's server says for both of its ends
        cut = next((place for place in self.interrupt_at if start <= place < end), None)
        if cut is not None:
            self.interrupt_at.remove(cut)
            end, reason = cut, "aborted"
        tokens = self.text[start:end]
        version, self.version = self.version, self.version + (reason == "aborted")
        return TokenOutput(
            token_ids=tokens,
            log_probs=[-0.1 * version] * len(tokens) if tokens else None,
            stop_reason=reason,
            extra_fields={"global_steps": version},
        )


def client_of(engine, monkeypatch, budget=None, repetition=None, check_every=100, iterations=None):
    monkeypatch.setattr(LLMServerClient, "generate", lambda client, **asked: engine.generate(client, **asked))
    rules = SegmentRules(budget, repetition, check_every, frozenset({STOP}), 0.0)
    return SegmentedClient(config=SimpleNamespace(), rules=rules, iterations=iterations)


def draw(client, most=50):
    return asyncio.run(client.generate("name", prompt_ids=[1, 2, 3], sampling_params={"max_tokens": most, "temperature": 1.0}))


def test_an_interrupted_response_goes_on_where_it_stood(monkeypatch):
    engine = Engine([*range(10), STOP], interrupt_at=[4, 4, 7])
    output = draw(client_of(engine, monkeypatch))
    assert output.token_ids == [*range(10), STOP] and output.stop_reason == "completed"
    # interrupted twice at 4: the second time nothing was drawn in between
    assert output.extra_fields["segments"] == [[0, 4], [2, 3], [3, 4]]
    assert output.log_probs == pytest.approx([0.0] * 4 + [-0.2] * 3 + [-0.3] * 4)
    assert (output.extra_fields["min_global_steps"], output.extra_fields["max_global_steps"]) == (0, 3)
    assert engine.asked == [(0, 50), (4, 46), (4, 46), (7, 43)], "the limit is of the whole response"


@pytest.mark.parametrize(("most", "reason", "length"), [(11, "completed", 11), (10, "length", 10), (1, "length", 1)])
def test_a_response_ends_with_its_stop_token_or_at_its_limit(monkeypatch, most, reason, length):
    rule = RepetitionRule(times=6, max_period=4, min_tokens=30)
    output = draw(client_of(Engine([*range(10), STOP]), monkeypatch, repetition=rule, check_every=5), most)
    assert (output.stop_reason, len(output.token_ids)) == (reason, length)


def test_a_stop_token_at_the_end_of_a_segment_ends_the_response(monkeypatch):
    # the engine would say more if it were asked again
    engine = Engine([0, 1, 2, 3, STOP, 5, 6])
    rule = RepetitionRule(times=2, max_period=1, min_tokens=40)
    output = draw(client_of(engine, monkeypatch, repetition=rule, check_every=5))
    assert output.token_ids == [0, 1, 2, 3, STOP] and engine.asked == [(0, 5)]


def test_a_response_that_repeats_itself_is_ended(monkeypatch):
    text = [7, 8, 9, *[1, 2, 3] * 50]
    rule = RepetitionRule(times=4, max_period=5, min_tokens=6)
    output = draw(client_of(Engine(text), monkeypatch, repetition=rule, check_every=10), most=100)
    assert output.stop_reason == "repetition" and output.extra_fields["repetition"] == 3
    assert len(output.token_ids) == 20, "seen at the first look behind the fourth repetition (token 15)"


def test_repetition_is_what_the_rule_says():
    rule = RepetitionRule(times=3, max_period=4, min_tokens=6)
    assert rule.period([5, 5, 5, 5, 5]) is None, "shorter than min_tokens"
    assert rule.period([5] * 6) == 1
    assert rule.period([1, 2] * 3) == 2 and rule.period([9, 1, 2, 1, 2]) is None
    assert rule.period([1, 2, 3, 4] * 3) == 4 and rule.period([1, 2, 3, 4, 5] * 9) is None, "longer than max_period"
    assert rule.period([1, 2, 3] * 3 + [4]) is None, "only the tail counts"
    assert rule.period([]) is None and rule.period([1]) is None


@pytest.mark.parametrize("seed", range(20))
def test_repetition_agrees_with_its_definition(seed):
    import random

    rng = random.Random(seed)
    rule = RepetitionRule(times=rng.randint(2, 4), max_period=rng.randint(1, 6), min_tokens=rng.randint(2, 9))
    text = [rng.randrange(2) for _ in range(rng.randrange(30))]

    def periodic(period):
        span = max(rule.times * period, rule.min_tokens)
        tail = text[-span:]
        return len(text) >= span and all(tail[i] == tail[i - period] for i in range(period, span))

    assert rule.period(text) == next((p for p in range(1, rule.max_period + 1) if periodic(p)), None)


def test_earlier_tokens_are_those_of_other_versions_than_the_last():
    assert list(earlier_tokens([(0, 2), (1, 1), (3, 2)])) == [True, True, True, False, False]
    assert list(earlier_tokens([(4, 3)])) == [False] * 3 and list(earlier_tokens([])) == []


def test_the_record_counts_versions_between_drawing_and_learning():
    record = RolloutRecord()
    record.add("a", {"segments": [[2, 10], [4, 30]], "repetition": 0}, step=6)
    # both turns by one version
    record.add("b", {"segments": [[5, 20], [5, 40]], "repetition": 3}, step=6)
    record.add("c", {}, step=6)
    figures = record.figures()
    # step 6 learns with version 5
    assert figures == {
        "staleness": 0.5,
        "staleness_max": 3.0,
        "continued": 0.5,
        "earlier_tokens": 0.1,
        "repetition": 0.5,
    }
    assert record.penalties(["a", "b", "c"], 0.25) == {"b": 0.25}
    assert RolloutRecord().figures() == {}


# ---- iterations -----------------------------------------------------------------------------------------------------
class Local:
    """Calls the actor's methods in this event loop, as ``actor.method.remote`` would elsewhere."""

    def __init__(self, actor):
        self._actor = actor

    def __getattr__(self, name):
        return SimpleNamespace(remote=getattr(self._actor, name))


def test_a_budget_is_spent_once_an_iteration(monkeypatch):
    async def scene():
        iterations = Iterations(step_samples=8, group=2)
        engine = Engine([*range(10), STOP])
        client = client_of(engine, monkeypatch, budget=4, iterations=Local(iterations))
        task = asyncio.create_task(client.generate("a", prompt_ids=[1, 2, 3], sampling_params={"max_tokens": 50}))
        for number in (1, 2):
            await asyncio.sleep(0.01)
            assert len(engine.asked) == number and not task.done(), "the trainer doesn't wait: nothing is extended"
            engine.version = number
            await iterations.advance()
        output = await task
        assert await iterations.extensions() == 0
        return engine, output

    engine, output = asyncio.run(scene())
    assert engine.asked == [(0, 4), (4, 4), (8, 4)]
    assert output.extra_fields["segments"] == [[0, 4], [1, 4], [2, 3]]


def test_whoever_interrupts_a_response_ends_its_iteration(monkeypatch):
    async def scene():
        iterations = Iterations(step_samples=8, group=2)
        engine = Engine([*range(10), STOP], interrupt_at=[1])
        client = client_of(engine, monkeypatch, budget=8, iterations=Local(iterations))
        task = asyncio.create_task(client.generate("a", prompt_ids=[1, 2, 3], sampling_params={"max_tokens": 50}))
        await asyncio.sleep(0.01)
        asked = list(engine.asked)
        await iterations.advance()
        await asyncio.sleep(0.01)
        await iterations.advance()
        await task
        return asked, engine.asked

    before, after = asyncio.run(scene())
    assert before == [(0, 8)] and after == [(0, 8), (1, 8), (9, 8)], "a whole budget in the next iteration"


def test_the_oldest_responses_go_on_where_a_step_would_never_end():
    async def scene():
        iterations = Iterations(step_samples=2, group=2, patience_s=0.02)
        # two prompts with two responses each; the second's first response starts before the first's second
        places = [await iterations.begin(prompt) for prompt in ("p", "q", "p", "q")]
        released = []

        async def wait(number):
            places[number] = await iterations.wait(places[number])
            released.append(number)

        tasks = [asyncio.create_task(wait(number)) for number in range(4)]
        await asyncio.sleep(0.01)
        assert released == []
        await iterations.want_samples(True)
        await asyncio.sleep(0.001)
        assert sorted(released) == [0, 2], "both of the older prompt, and nobody else"
        for number in (0, 2):
            await iterations.end(places[number])
        await asyncio.sleep(0.005)
        assert len(released) == 2, "the step has what it lacks; it is being judged"
        await asyncio.sleep(0.03)
        assert sorted(released) == [0, 1, 2, 3], "but it is still not there"
        assert await iterations.extensions() == 2
        await iterations.want_samples(False)
        await asyncio.gather(*tasks)

    asyncio.run(scene())


def test_a_response_that_is_given_up_while_it_waits_is_not_counted_as_generating():
    async def scene():
        iterations = Iterations(step_samples=1, group=1)
        first, second = await iterations.begin("p"), await iterations.begin("q")
        waiting = asyncio.create_task(iterations.wait(first))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await iterations.end(first)
        await iterations.want_samples(True)
        await asyncio.wait_for(iterations.wait(second), 5)
        # the trainer asks for one more, and nothing generates: the wait was extended at once
        assert await iterations.extensions() == 1

    asyncio.run(scene())


def test_a_validation_does_not_wait_for_the_next_version(monkeypatch):
    async def scene():
        iterations = Iterations(step_samples=2, group=2)
        training = await iterations.begin("p")
        engine = Engine([*range(10), STOP])
        client = client_of(engine, monkeypatch, budget=4, iterations=Local(iterations))
        await iterations.validate(True)
        output = await asyncio.wait_for(client.generate("a", prompt_ids=[1, 2, 3], sampling_params={"max_tokens": 50}), timeout=5)
        await iterations.validate(False)
        # the step that follows lacks as much as if nobody had validated
        waiting = asyncio.create_task(iterations.wait(training))
        await asyncio.sleep(0)
        await iterations.want_samples(True)
        await asyncio.wait_for(waiting, 1)
        return engine, output

    engine, output = asyncio.run(scene())
    assert engine.asked == [(0, 50)] and output.extra_fields["segments"] == [[0, 11]]


def test_what_ended_before_a_step_does_not_count_for_it():
    async def scene(before, ready):
        iterations = Iterations(step_samples=4, group=2, patience_s=60)
        for number in range(before):
            # failed, dropped, or the first of two turns
            await iterations.end(await iterations.begin(f"old {number}"))
        # one response of the first prompt has ended
        places = [await iterations.begin(prompt) for prompt in "ppqqrr"]
        await iterations.end(places.pop(0))
        tasks = [asyncio.create_task(iterations.wait(place)) for place in places]
        await asyncio.sleep(0)
        await iterations.want_samples(True, ready)
        await asyncio.sleep(0.001)
        done = [task.done() for task in tasks]
        await iterations.advance()
        await asyncio.gather(*tasks)
        return done

    for before in (0, 20):
        assert asyncio.run(scene(before, ready=0)) == [True] * 3 + [False] * 2
        assert asyncio.run(scene(before, ready=2)) == [True] * 2 + [False] * 3, "at least one group"


def test_patience_grows_by_whole_groups():
    async def scene():
        iterations = Iterations(step_samples=2, group=2, patience_s=0.001)
        places = [await iterations.begin(f"p{number // 2}") for number in range(16)]
        await iterations.want_samples(True)
        await iterations.end(places[0])
        await iterations.end(places[1])
        released = []

        async def wait(place):
            place = await iterations.wait(place)
            released.append(place)
            # it ends without what the trainer needs
            await iterations.end(place)

        tasks = [asyncio.create_task(wait(place)) for place in places[2:]]
        await asyncio.wait_for(asyncio.gather(*tasks), 5)
        return await iterations.extensions()

    assert asyncio.run(scene()) == 3, "1, 2 and 4 groups"
