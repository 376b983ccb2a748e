"""The prompt of the published recipe, and the parquet rows that verl reads.

Source: the system and user texts of kimina-prover-rl (Kimina-Prover-RL, data preparation).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kimina.durable import write_bytes
from kimina.errors import InfrastructureError

SYSTEM_PROMPT = "You are an expert in mathematics and proving theorems in Lean 4."
USER_PREFIX = "Think about and solve the following problems step by step in Lean 4.\n\n# Problem:\n"
USER_MIDDLE = "\n\n# Formal Statement:\n```lean4\n"
USER_SUFFIX = "\n```\n"


def prompt_messages(informal: str, statement: str) -> list[dict[str, str]]:
    """Return the chat messages that ask for a proof of ``statement``."""
    user = f"{USER_PREFIX}{informal}{USER_MIDDLE}{statement.rstrip()}{USER_SUFFIX}"
    return [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": user}]


def prompt_row(
    *,
    source: str,
    split: str,
    index: int,
    problem_id: str,
    name: str,
    statement: str,
    informal: str,
    family: str = "",
    level: int = 0,
    reference_proof: str = "",
) -> dict:
    """Return one row of a prompt set in verl's schema; the fields of ``extra_info`` are the same for every set."""
    return {
        "data_source": source,
        "prompt": prompt_messages(informal, statement),
        "ability": "theorem_proving",
        "reward_model": {"style": "lean", "ground_truth": statement},
        "extra_info": {
            "index": index,
            "split": split,
            "problem_id": problem_id,
            "name": name,
            "statement": statement,
            "informal": informal,
            "family": family,
            "level": level,
            "reference_proof": reference_proof,
        },
    }


def misfit(row: Mapping[str, Any]) -> str | None:
    """Return what keeps ``row`` from being one of a prompt set as `prompt_row` makes them, None where nothing does.

    Only what an evaluation reads must be there; other fields may be missing.
    """
    info, messages = row.get("extra_info"), row.get("prompt")
    if not isinstance(info, Mapping):
        return "extra_info is missing"
    for key in ("problem_id", "statement", "family"):
        if not isinstance(info.get(key), str) or (key != "family" and not info[key].strip()):
            return f"extra_info.{key} is missing or no text"
    if not isinstance(info.get("level"), int):
        return "extra_info.level is missing or no whole number"
    if not isinstance(messages, list) or not messages:
        return "prompt is no list of messages"
    for message in messages:
        if not isinstance(message, Mapping) or not all(isinstance(message.get(key), str) for key in ("role", "content")):
            return "prompt has a message without role and content"
    return None


def write_rows(rows: Sequence[Mapping], path: Path) -> None:
    """Write ``rows`` as parquet, in one step; every prompt set has the same columns and types, an empty one too.

    Raises:
        InfrastructureError: the file cannot be written; an earlier one is unchanged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number = pa.string(), pa.int64()
    schema = pa.schema(
        {
            "data_source": text,
            "prompt": pa.list_(pa.struct({"role": text, "content": text})),
            "ability": text,
            "reward_model": pa.struct({"style": text, "ground_truth": text}),
            "extra_info": pa.struct(
                {
                    "index": number,
                    "split": text,
                    "problem_id": text,
                    "name": text,
                    "statement": text,
                    "informal": text,
                    "family": text,
                    "level": number,
                    "reference_proof": text,
                }
            ),
        }
    )
    content = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), content)
    write_bytes(path, content.getvalue().to_pybytes())


def read_rows(path: Path) -> list[dict]:
    """Read the rows of a prompt set.

    Raises:
        InfrastructureError: the file is missing, unreadable or no parquet file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        raise InfrastructureError(f"cannot read the prompt set {path}: {error}") from error
