"""The plan printed for a person at a terminal."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kimina.experiment.plan import (
    Plan,
    count_text,
    rate_text,
    seconds_text,
    sentence_about_verification,
)


def print_plan(plan: Plan, missing: list[str], console: Console) -> None:
    """Print the whole report; ``missing`` is what this machine lacks for the run."""
    console.print(f"[bold]Plan of {plan.name}[/bold] (nothing was started)\n", highlight=False)
    console.print(_pairs("Chosen", [(group, option) for group, option in plan.choices.items()]))
    console.print(_pairs("Stages, in order", list(plan.stages.items())))
    console.print(_pairs("Batch of one step", _batch_rows(plan)))
    console.print(_pairs("Steps", _step_rows(plan)))
    console.print(_pairs("Cost of one step", _cost_rows(plan)))
    console.print(_pairs("Evaluation", _evaluation_rows(plan)))
    console.print("[bold]verl settings that differ from verl's defaults[/bold]")
    for key, pair in sorted(plan.verl_settings.items()):
        line = (
            f"  [cyan]{key}[/cyan] = {escape(_text(pair['value']))}  [dim](verl: {escape(_text(pair['verl']))})[/dim]"
        )
        console.print(line, highlight=False, soft_wrap=True)
    for sentence in missing:
        console.print(f"[yellow]on this machine:[/yellow] {escape(sentence)}", highlight=False, soft_wrap=True)
    for warning in plan.warnings:
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}", highlight=False, soft_wrap=True)


def _pairs(title: str, rows: list[tuple[str, str]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=None, padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, text)
    table.add_row("", "")
    return table


def _batch_rows(plan: Plan) -> list[tuple[str, str]]:
    batch = plan.batch
    accumulation = (
        f"{batch.mini_batch_responses} responses / {batch.workers} workers / {batch.micro_batch_responses} a forward pass"
        f" = {batch.gradient_accumulation}"
        if batch.gradient_accumulation is not None
        else "by tokens (use_dynamic_bsz)"
    )
    return [
        ("responses", f"{batch.prompts} prompts x {batch.group_size} = {batch.responses:,}"),
        ("optimiser updates", f"{batch.optimiser_updates} (mini-batch of {batch.mini_batch_prompts} prompts)"),
        ("gradient accumulation", accumulation),
    ]


def _step_rows(plan: Plan) -> list[tuple[str, str]]:
    steps = plan.steps
    size = plan.checkpoint_bytes / 1e9
    return [
        ("training prompts", f"{steps.train_rows:,} (count stated by the recipe)"),
        ("steps an epoch", f"{steps.per_epoch:,}"),
        ("steps in total", f"{steps.total:,} ({steps.epochs_done:.2f} epochs)"),
        ("validations", str(steps.validations)),
        ("checkpoints", f"{steps.checkpoints} written, {plan.checkpoints_kept} kept, about {size:.2g} GB each"),
    ]


def _cost_rows(plan: Plan) -> list[tuple[str, str]]:
    cost = plan.step_cost
    return [
        ("tokens, at most", f"{cost.tokens_at_most:,} (of these {cost.response_tokens_at_most:,} generated)"),
        ("proofs, at most", f"{cost.proofs_at_most:,}"),
        (
            "generation",
            f"{seconds_text(cost.generation_seconds)} (assumption: {count_text(cost.assumed_tokens_per_response)} tokens "
            f"a response, {rate_text(cost.assumed_tokens_per_second, 'tokens/s')})",
        ),
        (
            "verification",
            f"{seconds_text(cost.verification_seconds)} (assumption: "
            f"{rate_text(cost.assumed_proofs_per_second, 'proofs/s')})",
        ),
        ("", sentence_about_verification(cost)),
    ]


def _evaluation_rows(plan: Plan) -> list[tuple[str, str]]:
    evaluation = plan.evaluation
    return [
        ("problems", f"{evaluation['problems']:,} ({evaluation['name']}, {evaluation['split']})"),
        (
            "responses",
            f"{evaluation['problems']:,} x {evaluation['samples']} = {evaluation['responses']:,} for each model, "
            f"at most {evaluation['response_tokens_at_most']:,} tokens",
        ),
        ("fix turns, at most", f"{evaluation['fix_turns_at_most']:,}"),
        ("canaries", f"{evaluation['canaries']} false statements, asked along"),
        ("verification", seconds_text(evaluation["verification_seconds"])),
        ("reported", ", ".join(f"pass@{k}" for k in evaluation["ks"])),
    ]


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"[{', '.join(map(_text, value))}]" if isinstance(value, list) else str(value)
