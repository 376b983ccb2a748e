"""The Ray actors that run agent loops: verl's, with less work for each sample.

A step has hundreds of samples, and on a small machine what verl does around each of them takes longer than drawing it.
Here our loop is made without Hydra, and the samples of a prompt go to the queue of samples together.
"""

from dataclasses import dataclass, field
from typing import Any

import ray
import torch
import transfer_queue as tq
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap, ToolListWrap
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ
from verl.utils.rollout_trace import rollout_trace_attr
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from kimina.verl.agent_loop import ProofAgentLoop
from kimina.verl.emit import AGENT_LOOP
from kimina.verl.heap import keep_what_lives

_Base = AgentLoopWorkerTQ.__ray_metadata__.modified_class


@dataclass
class _Group:
    """The samples of a prompt that have ended, and how many there will be."""

    size: int
    keys: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    tags: list[dict[str, Any]] = field(default_factory=list)


class KiminaAgentLoopWorker(_Base):
    """verl's worker; loops other than ours take verl's way."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._groups: dict[str, _Group] = {}
        keep_what_lives()

    async def _run_prompt(self, prompt: dict, sampling_params: dict, trajectory: dict, trace: bool = False) -> None:
        usual = self.rollout_config.val_kwargs.n if trajectory["validate"] else self.rollout_config.n
        self._groups[prompt["uid"]] = _Group(int(prompt.get("__rollout_n__", usual)))
        try:
            await super()._run_prompt(prompt, sampling_params, trajectory, trace)
        finally:
            del self._groups[prompt["uid"]]

    async def _run_agent_loop(
        self, sampling_params: dict[str, Any], trajectory: dict[str, Any], *, agent_name: str, trace: bool = True, **kwargs
    ) -> None:
        if agent_name != AGENT_LOOP:
            await super()._run_agent_loop(sampling_params, trajectory, agent_name=agent_name, trace=trace, **kwargs)
            return
        with rollout_trace_attr(
            step=trajectory["step"],
            sample_index=trajectory["sample_index"],
            rollout_n=trajectory["rollout_n"],
            validate=trajectory["validate"],
            name="agent_loop",
            trace=trace,
        ):
            loop = ProofAgentLoop(
                trainer_config=DictConfigWrap(self.config),
                server_manager=self.llm_client,
                tokenizer=self.tokenizer,
                processor=self.processor,
                hf_model_type=self.hf_model_type,
                dataset_cls=self.dataset_cls,
                data_config=DictConfigWrap(self.config.data),
                tools=ToolListWrap(self.tools),
            )
            output = await loop.run(sampling_params, **kwargs)
            await self._add_to_group(output, trajectory["validate"], kwargs)

    async def _add_to_group(self, output: AgentLoopOutput, validate: bool, kwargs: dict[str, Any]) -> None:
        """Keep a judged sample; the last of its group sends all of them.

        A prompt counts as finished once all its samples are there, so none is missed before. Where one fails, the others
        are not sent: verl would discard them.
        """
        await self._compute_teacher_logprobs(
            output,
            prompt_ids=output.prompt_ids,
            response_ids=output.response_ids,
            validate=validate,
            sample_kwargs=kwargs,
        )
        group = self._groups[kwargs["uid"]]
        row = self._row(output, kwargs)
        group.keys.append(f"{kwargs['uid']}_{kwargs['session_id']}_0")
        group.rows.append(row)
        group.tags.append(_tag(row))
        if len(group.rows) == group.size:
            await tq.async_kv_batch_put(
                keys=group.keys,
                fields=list_of_dict_to_tensordict(group.rows),
                tags=group.tags,
                partition_id="val" if validate else "train",
            )

    def _row(self, output: AgentLoopOutput, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return what verl's trainers read of a sample: its tokens, masks and reward, and the keys of its prompt."""
        row = output.as_dict() | kwargs
        row.pop("multi_modal_data", None)
        tokens = torch.cat([row["prompts"], row["responses"]])
        inputs = self._compute_multi_modal_inputs(output, tokens)
        mask = torch.ones_like(tokens)
        row |= {
            "loss_mask": row["response_mask"],
            "input_ids": tokens,
            "position_ids": self._compute_position_ids(tokens[None], mask[None], inputs)[0],
            "multi_modal_inputs": inputs,
        }
        return row


def _tag(row: dict[str, Any]) -> dict[str, Any]:
    """Return what verl's buffer reads of a sample: lengths, and the versions of the policy, for limits of staleness."""
    prompt, response = len(row["prompts"]), len(row["responses"])
    return {
        "status": "success",
        "prompt_len": prompt,
        "response_len": response,
        "seq_len": prompt + response,
        "global_steps": row["global_steps"],
        "min_global_steps": row["extra_fields"].get("min_global_steps"),
        "max_global_steps": row["extra_fields"].get("max_global_steps"),
    }


class KiminaAgentLoopManager(AgentLoopManagerTQ):
    """verl's manager with our workers."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(KiminaAgentLoopWorker)
