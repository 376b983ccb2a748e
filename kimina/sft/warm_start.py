"""Supervised warm start with TRL's SFTTrainer on worked answers.

The teacher is imperfect on purpose: each decision of a worked answer goes wrong with ``wrong_choice_rate``. The
model learns the format, copies statements and knows the moves, but chooses loosely; choosing is left to RL.
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kimina.data.nano.answers import REMARK_RATE, answer
from kimina.data.nano.problem import Problem
from kimina.data.prompts import prompt_messages
from kimina.errors import UserError
from kimina.sft.tokenizer import train_tokenizer

IGNORED = -100
SHARD = 16  # batches of similar length are cut from shards of this many batches
LOG_EVERY = 20  # steps


def corpus(problems: Sequence[Problem], seed: int, remark_rate: float = REMARK_RATE) -> list[str]:
    """Return the texts that the tokenizer is trained on: statements, informal statements, worked answers."""
    rng = random.Random(f"tokenizer-{seed}")
    texts = []
    for problem in problems:
        texts.append(f"{problem.informal}\n{problem.statement}")
        texts.append(answer(problem, problem.proof(rng, 0.3), rng, remark_rate))
    return texts


def examples(problems: Sequence[Problem], tokenizer, settings: Mapping, seed: int) -> list[dict[str, list[int]]]:
    """Return tokenised worked answers in the order of training.

    Rows are batched by length within shards; only the answer's tokens carry loss. Every pass over the problems draws
    new wording and new mistakes.
    """
    rng = random.Random(f"worked-answers-{seed}")
    epochs, batch = settings["epochs"], settings["batch_size"]
    rows: list[dict[str, list[int]]] = []
    for pass_index in range(math.ceil(epochs)):
        share = min(1.0, epochs - pass_index)
        chosen = rng.sample(list(problems), int(share * len(problems)))
        drawn = [_example(problem, tokenizer, settings, rng) for problem in chosen]
        drawn = [row for row in drawn if len(row["input_ids"]) <= settings["max_length"]]
        for start in range(0, len(drawn), SHARD * batch):
            shard = sorted(drawn[start : start + SHARD * batch], key=lambda row: len(row["input_ids"]))
            batches = [shard[i : i + batch] for i in range(0, len(shard), batch)]
            rng.shuffle(batches)
            rows += [row for one in batches for row in one]
    return rows


def _example(problem: Problem, tokenizer, settings: Mapping, rng: random.Random) -> dict[str, list[int]]:
    prompt = tokenizer.apply_chat_template(
        prompt_messages(problem.informal, problem.statement), add_generation_prompt=True, tokenize=True, return_dict=False
    )
    text = answer(problem, problem.proof(rng, settings["wrong_choice_rate"]), rng, settings["remark_rate"])
    completion = [*tokenizer.encode(text), tokenizer.eos_token_id]
    return {"input_ids": [*prompt, *completion], "labels": [IGNORED] * len(prompt) + completion}


def learning_rate_factor(step: int, total: int, warmup: int, floor: float = 0.05) -> float:
    """Linear warm-up, constant until half of the steps, then linear decay to ``floor``."""
    rise = min(1.0, (step + 1) / max(1, warmup))
    fall = min(1.0, (total - step) / max(1.0, 0.5 * total))
    return rise * max(floor, fall)


def train_warm_start(
    problems: Sequence[Problem],
    architecture: Mapping,
    settings: Mapping,
    seed: int,
    folder: Path,
    on_step: Callable[[int, int, dict], None],
) -> dict:
    """Train tokenizer and model into ``folder/model`` (Hugging Face format) and return a summary.

    Checkpoints go to ``folder/checkpoints``; training continues from the last one. ``on_step`` is called with
    (step, total steps, metrics), every 20 steps and at the end.

    Raises:
        UserError: every worked answer is longer than ``max_length``.
    """
    import torch
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import SFTConfig, SFTTrainer

    from kimina.sft.model import build_model
    from kimina.sft.muon import MuonWithAdamW

    if settings["threads"]:
        torch.set_num_threads(settings["threads"])
    texts = corpus(problems[: settings["tokenizer_problems"]], seed, settings["remark_rate"])
    tokenizer = train_tokenizer(texts, settings["vocab_size"])
    model = build_model(architecture, tokenizer, seed)
    rows = examples(problems, tokenizer, settings, seed)
    if not rows:
        raise UserError(
            f"sft.max_length={settings['max_length']}: every worked answer is longer; choose a larger one, e.g. sft.max_length=384"
        )
    total = math.ceil(len(rows) / settings["batch_size"])
    optimizer = MuonWithAdamW(model, muon_lr=settings["muon_lr"], lr=settings["lr"])
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: learning_rate_factor(step, total, settings["warmup_steps"])
    )

    backbone = torch.compile(model.model, dynamic=True) if settings["compile"] else model.model

    class AnswerTrainer(SFTTrainer):
        """Computes logits at the answer's tokens only: a third of the work of a small model is in the others."""

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            hidden_BTD = backbone(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], use_cache=False
            ).last_hidden_state
            labels_BT = inputs["labels"][:, 1:]
            kept = labels_BT != IGNORED
            loss = torch.nn.functional.cross_entropy(model.lm_head(hidden_BTD[:, :-1][kept]), labels_BT[kept])
            return (loss, None) if return_outputs else loss

    class Report(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            control.should_log |= state.global_step == total

        def on_log(self, args, state, control, logs=None, **kwargs):
            on_step(state.global_step, total, dict(logs or {}))

    checkpoints = folder / "checkpoints"
    config = SFTConfig(
        output_dir=str(checkpoints),
        per_device_train_batch_size=settings["batch_size"],
        max_steps=total,
        max_grad_norm=1.0,
        logging_steps=LOG_EVERY,
        # Saved where a loss has just been logged, so that a resumed run logs the same means as one that ran through.
        save_steps=LOG_EVERY * max(2, total // (6 * LOG_EVERY)),
        save_total_limit=1,
        seed=seed,
        bf16=False,
        use_cpu=not torch.cuda.is_available(),
        gradient_checkpointing=False,
        train_sampling_strategy="sequential",
        dataset_kwargs={"skip_prepare_dataset": True},
        packing=False,
        max_length=None,
        report_to=[],
        disable_tqdm=True,
        dataloader_num_workers=0,
    )
    trainer = AnswerTrainer(
        model=model,
        args=config,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        optimizers=(optimizer, scheduler),
        callbacks=[Report()],
    )
    checkpoints.mkdir(parents=True, exist_ok=True)
    trainer.train(resume_from_checkpoint=_last_whole_checkpoint(checkpoints))
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    lengths = [sum(label != IGNORED for label in row["labels"]) for row in rows]
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "vocabulary": len(tokenizer),
        "examples": len(rows),
        "steps": total,
        "answer_tokens_mean": sum(lengths) / len(lengths),
        "train_loss": _mean_loss(trainer.state.log_history),
    }


def _last_whole_checkpoint(folder: Path) -> str | None:
    """Return the newest checkpoint that was written to its end (its trainer_state.json comes last), if there is one."""
    for checkpoint in sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True):
        try:
            json.loads((checkpoint / "trainer_state.json").read_bytes())
        except (OSError, ValueError):
            continue
        return str(checkpoint)
    return None


def _mean_loss(log_history: Sequence[Mapping]) -> float:
    """Return the mean loss over all steps; the trainer's own leaves out the steps before a resumption."""
    logged = [(entry["step"], entry["loss"]) for entry in log_history if "loss" in entry]
    steps = [step for step, _ in logged]
    weights = [step - before for before, step in zip([0, *steps], steps, strict=False)]
    return sum(w * loss for w, (_, loss) in zip(weights, logged, strict=True)) / sum(weights)
