"""The rollout server, without Ray: batching, seeds, weights."""

import asyncio

import pytest
import torch
from safetensors.torch import load_file

from kimina.generation.interface import Completion
from kimina.verl.cpu_server import CpuServer, ServerSettings


@pytest.fixture
def server(tiny_prover):
    return make(tiny_prover)


def make(tiny_prover, **changes):
    settings = dict(
        model_path=str(tiny_prover / "model"),
        dtype="float32",
        prompt_length=32,
        response_length=12,
        max_rows=64,
        seed=1,
        window_s=0.01,
    )
    return CpuServer(ServerSettings(**{**settings, **changes}))


def ask(server, prompts, **sampling):
    async def together():
        requests = [server.generate(prompt, {"temperature": 1.0, **sampling}, request_id="r") for prompt in prompts]
        return await asyncio.gather(*requests)

    return asyncio.run(together())


def test_samples_depend_on_seed_step_and_prompt_alone(tiny_prover, server):
    prompts = [[5, 6, 7]] * 3 + [[9, 10]] * 2
    first = [output.token_ids for output in ask(server, prompts)]
    # another batch cut and another order of arrival
    other = make(tiny_prover, enough_rows=1, max_rows=2)
    again = [output.token_ids for output in ask(other, prompts[::-1])]
    assert sorted(map(tuple, first)) == sorted(map(tuple, again))
    assert len({tuple(tokens) for tokens in first[:3]}) > 1, "samples of one prompt differ"
    different_seed = [output.token_ids for output in ask(make(tiny_prover, seed=2), prompts)]
    assert different_seed != first


def test_log_probs_have_one_entry_a_token_and_the_step_is_reported(server):
    asyncio.run(server.set_global_steps(7))
    [output] = ask(server, [[5, 6]])
    assert len(output.log_probs) == len(output.token_ids) <= 12
    assert output.extra_fields == {"global_steps": 7}
    assert output.stop_reason in ("completed", "length")


def test_new_weights_change_the_samples_and_restart_the_numbers(tiny_prover, server):
    state = load_file(tiny_prover / "model" / "model.safetensors")
    before = ask(server, [[5, 6, 7]])[0].token_ids
    asyncio.run(server.load_weights(state, 0))
    assert ask(server, [[5, 6, 7]])[0].token_ids == before, "same weights, same step, same sample"
    zeros = {name: torch.zeros_like(tensor) for name, tensor in state.items()}
    asyncio.run(server.load_weights(zeros, 0))
    [output] = ask(server, [[5, 6, 7]])
    uniform = -torch.log(torch.tensor(float(state["model.embed_tokens.weight"].shape[0])))
    assert torch.allclose(torch.tensor(output.log_probs), uniform.expand(len(output.log_probs)))


def test_an_interruption_returns_what_is_drawn_and_keeps_new_requests_waiting(tiny_prover, monkeypatch):
    server = make(tiny_prover, enough_rows=1, window_s=0.0)
    # never a stop token, so that all twelve tokens would be drawn
    server.stop_ids = frozenset()

    async def scene():
        real_step, steps = server.model.step, []

        def step(*arguments):
            steps.append(arguments)
            if len(steps) == 4:
                # as the actor's other thread would do it: the gate is closed while a token is computed
                server._open.clear()
            return real_step(*arguments)

        monkeypatch.setattr(server.model, "step", step)
        asked = [asyncio.create_task(server.generate([5, 6, 7], {"temperature": 1.0}, request_id="r")) for _ in range(2)]
        cut = await asyncio.gather(*asked)
        await server.abort_all_requests()
        late = asyncio.create_task(server.generate([9, 10], {"temperature": 1.0}, request_id="r"))
        await asyncio.sleep(0.05)
        assert not late.done(), "nothing is drawn between an abortion and the next resumption"
        await server.load_weights(load_file(tiny_prover / "model" / "model.safetensors"), 3)
        await server.resume_generation()
        return cut, await late

    cut, late = asyncio.run(scene())
    assert [(output.stop_reason, len(output.token_ids), len(output.log_probs)) for output in cut] == [("aborted", 4, 4)] * 2
    assert (late.stop_reason, len(late.token_ids), late.extra_fields) == ("length", 12, {"global_steps": 3})


def test_failure_reaches_every_caller(server, monkeypatch):
    def fail(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(server, "_decode", fail)
    with pytest.raises(MemoryError, match="no room"):
        ask(server, [[5], [6]])


def test_unsupported_sampling_is_refused(server):
    with pytest.raises(ValueError, match="top_k"):
        ask(server, [[5]], top_k=5)
    with pytest.raises(ValueError, match="repetition"):
        ask(server, [[5]], repetition_penalty=1.2)


def test_output_has_the_fields_that_verl_reads():
    from verl.workers.rollout.replica import TokenOutput

    from kimina.verl.cpu_server import _output

    output = _output(Completion([1, 2], [-0.1, -0.2], True), 3, 12)
    assert set(TokenOutput.model_fields) <= set(vars(output))
