"""A model card: the README.md that goes beside a trained model onto the Hugging Face hub.

Everything in it is known from the artifacts: what the model started from, what it was trained on and with which settings,
and what was measured. What is not known (a licence, above all) is not guessed; the card says what is missing.
Format: https://huggingface.co/docs/hub/model-cards (metadata in YAML before the text).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kimina.evaluation.result import Rate
from kimina.tables.export import escape_markdown, to_markdown
from kimina.tables.result_table import FAMILY, ResultTable
from kimina.tables.run_facts import RunFacts
from kimina.tables.wording import ability_sentence, cell_sentence, plural, unlearned_sentence, unverified_sentence

TASK = {"type": "text-generation", "name": "Theorem proving in Lean 4"}
TAGS = ("lean4", "theorem-proving", "formal-mathematics", "reinforcement-learning", "verl", "kimina-lab")


@dataclass(frozen=True)
class CardFacts:
    """What a card says besides the results.

    Args:
        run: name, command, hardware and Lean version.
        base_model: the hub's name of the model that training started from, None where it has none.
        start: how training started, in a sentence.
        datasets: the hub's names of the training sets; ``training_data`` says in a sentence what was trained on.
        benchmark: name of the set that was measured on; ``benchmark_id`` the hub's name of it, or what else it is;
            ``split`` the split of it.
        training: (title, text) in reading order: method, steps, batch.
        evaluation: the settings of the measurement.
        settings: of the trainer, those that differ from the trainer's defaults: key to value.
        methods: our own settings by node (reward, recipe, …).
        prompt: chat messages of one problem as the model gets them.
        limits: sentences beyond those that follow from the results.
        tags: beyond those that all cards have.
    """

    run: RunFacts
    base_model: str | None
    start: str
    datasets: tuple[str, ...]
    training_data: str
    benchmark: str
    benchmark_id: str
    split: str
    training: tuple[tuple[str, str], ...]
    evaluation: Mapping[str, Any]
    settings: Mapping[str, Any]
    methods: Mapping[str, Any]
    prompt: Sequence[Mapping[str, str]]
    limits: tuple[str, ...]
    tags: tuple[str, ...]


def model_card(facts: CardFacts, table: ResultTable) -> str:
    """Return the card of the model that ``table`` calls "after"."""
    return f"---\n{_yaml(metadata(facts, table))}---\n\n{_body(facts, table)}"


def metadata(facts: CardFacts, table: ResultTable) -> dict[str, Any]:
    """Return the metadata; keys about which nothing is known are left out, and so are undefined results."""
    found: dict[str, Any] = {}
    if facts.base_model is not None:
        found["base_model"] = facts.base_model
        found["base_model_relation"] = "finetune"
    if facts.datasets:
        found["datasets"] = list(facts.datasets)
    found |= {
        "language": ["en"],
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": list(dict.fromkeys([*TAGS, *facts.tags])),
    }
    metrics = [
        metric
        for k in table.ks
        if (metric := _metric(f"pass@{k}", table.after.pass_at_k(k, seed=table.seed), facts, table)) is not None
    ]
    proved = _metric("proof_rate", table.after.proof_rate(seed=table.seed), facts, table)
    metrics += [proved] if proved is not None else []
    if metrics:
        dataset = {"type": facts.benchmark_id, "name": facts.benchmark, "split": facts.split}
        found["model-index"] = [
            {"name": facts.run.name, "results": [{"task": TASK, "dataset": dataset, "metrics": metrics}]}
        ]
    return found


def _metric(kind: str, rate: Rate, facts: CardFacts, table: ResultTable) -> dict[str, Any] | None:
    if rate.value is None:
        return None
    span = rate.interval
    bounds = {"low": round(100 * span.low, 2), "high": round(100 * span.high, 2)} if span else {}
    return {
        "type": kind,
        "name": f"{kind.replace('_', ' ')} (%)",
        "value": round(100 * rate.value, 2),
        # The hub shows value and name; the rest is for whoever compares.
        "args": {
            **bounds,
            "problems": rate.n,
            "samples": table.after.samples_per_problem,
            "lean": facts.run.lean_version,
        },
    }


def _body(facts: CardFacts, table: ResultTable) -> str:
    parts = [
        f"# {escape_markdown(facts.run.name)}",
        f"A Lean 4 prover. {escape_markdown(f'{facts.start} {facts.training_data}')} A proof counts when Lean's kernel accepts it for the given "
        "statement, without `sorry` or extra axioms, in the required output format.",
        "## Results",
        f"{escape_markdown(facts.benchmark)} ({facts.split}): {plural(table.overall.problems, 'theorem')}, "
        f"{plural(table.after.samples_per_problem, 'sample')} each, Lean {facts.run.lean_version or '–'}. Before: the model "
        "that training started from. After: this model.",
        to_markdown(table).rstrip(),
        escape_markdown(" ".join([*map(cell_sentence, table.overall.cells), ability_sentence(table)])),
        _pairs([(key, _inline(value)) for key, value in facts.evaluation.items()], "Evaluation", "Setting"),
        "## Prompt",
        "One problem as the model gets it, before its chat template:",
        *[part for message in facts.prompt for part in (f"{escape_markdown(message['role'])}:", _fenced(message["content"]))],
        "## Training",
        _pairs([*facts.training, *facts.run.lines()], "", ""),
        "Command:",
        _fenced(facts.run.command, "bash"),
        "<details><summary>Settings of verl that differ from its defaults</summary>",
        _pairs([(key, _inline(value)) for key, value in sorted(facts.settings.items())], "Key", "Value"),
        "</details>",
        "<details><summary>Reward, prompt set and the rest of the configuration</summary>",
        _fenced(_yaml(facts.methods), "yaml"),
        "</details>",
        "## Limits",
        "\n".join(f"- {sentence}" for sentence in _limits(facts, table)),
        "## Licence",
        _licence(facts),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _limits(facts: CardFacts, table: ResultTable) -> list[str]:
    found = [
        f"The figures hold for Lean {facts.run.lean_version or '(version unknown)'} with the header and the limits of this "
        "evaluation; another version accepts other proofs.",
        "One training run with one seed: how much another seed would differ is not part of the intervals.",
        unverified_sentence(table),
        unlearned_sentence(table.grouped(FAMILY)),
        *facts.limits,
    ]
    return [escape_markdown(sentence) for sentence in found if sentence]


def _licence(facts: CardFacts) -> str:
    sources = [*([facts.base_model] if facts.base_model else []), *facts.datasets]
    derived = (
        f"The weights derive from {' and '.join(f'`{name}`' for name in sources)}; their licences bind this model."
        if sources
        else "Weights and training data were made by this run alone."
    )
    return (
        f"{derived} No licence is stated here: choose one, and add `license:` to the metadata before publishing. The code "
        "that trained the model, kimina-lab, is under Apache-2.0."
    )


def _pairs(rows: Sequence[tuple[str, str]], left: str, right: str) -> str:
    if not rows:
        return ""
    lines = [f"| {left} | {right} |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {_cell(key)} | {_cell(value)} |" for key, value in rows)])


def _cell(text: str) -> str:
    return escape_markdown(" ".join(text.split()))


def _inline(value: Any) -> str:
    return value if isinstance(value, str) and value else _yaml(value).removesuffix("...\n").strip().replace("\n", ", ")


def _fenced(text: str, language: str = "") -> str:
    # A fence must be longer than any run of backticks within.
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _yaml(value: Any) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None if isinstance(value, list) else False)
