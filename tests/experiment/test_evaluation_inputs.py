"""Prompt sets of the user's own: what can't be asked is named, never a traceback."""

import copy

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kimina.data.prompts import prompt_row
from kimina.errors import UserError
from kimina.experiment.evaluation_inputs import read_prompts

ROW = prompt_row(source="s", split="test", index=0, problem_id="p", name="t", statement="theorem t : True := by", informal="True.")


def _with(**info):
    row = copy.deepcopy(ROW)
    row["extra_info"] |= info
    return row


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "a", "statement": "theorem t : True := by"}, "extra_info is missing"),
        (_with(problem_id=3), "extra_info.problem_id is missing or no text"),
        (_with(statement=None), "extra_info.statement is missing or no text"),
        (_with(level="hard"), "extra_info.level is missing or no whole number"),
        (_with(level=None), "extra_info.level is missing or no whole number"),
        ({**ROW, "prompt": "Prove it"}, "prompt is no list of messages"),
        ({**ROW, "prompt": []}, "prompt is no list of messages"),
        ({**ROW, "prompt": [{"role": "user"}]}, "message without role and content"),
        (_with(statement="def x := 1"), "no theorem"),
    ],
)
def test_a_row_of_another_kind_is_a_users_error(tmp_path, row, told):
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "mine.parquet")
    with pytest.raises(UserError, match=f"row 1: .*{told}"):
        read_prompts(tmp_path / "mine.parquet")


def test_columns_that_nobody_reads_may_be_missing(tmp_path):
    row = {key: ROW[key] for key in ("prompt", "extra_info")}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "mine.parquet")
    assert read_prompts(tmp_path / "mine.parquet") == [row]


def test_json_nested_without_end_is_a_users_error(tmp_path):
    (tmp_path / "mine.jsonl").write_text("[" * 100_000)
    with pytest.raises(UserError, match="line 1: JSON nested too deeply"):
        read_prompts(tmp_path / "mine.jsonl")
