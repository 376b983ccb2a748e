"""Records in Parquet: any text survives, a kill costs no part, and what is no part is named."""

import random
from dataclasses import fields, replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kimina.errors import InfrastructureError
from kimina.evaluation import EvalResult, LeanMessage, Outcome, append_outcomes, group_by_problem, read_outcomes, sample_rows

PROOF = Outcome("p1", "conj", 1, 0, "proved", (), 1.0, 80, True, "```lean4\n∧\n```", lean_s=0.01, generation_s=0.2)
ERROR = replace(
    PROOF, sample=1, verdict="lean_error", reward=0.0, messages=(LeanMessage("error", 3, 2, "unknown"),), feedback="# Error 1"
)
BROKEN = replace(PROOF, sample=2, verdict=None, violations=("no_lean_block", "too_long"), reward=None, finished=False)


def test_records_survive_a_round_trip(tmp_path):
    outcomes = [PROOF, ERROR, BROKEN, replace(PROOF, sample=1, turn=2), replace(ERROR, problem_id="c", canary=True, no_fix="x")]
    append_outcomes(tmp_path, outcomes[:2])
    path = append_outcomes(tmp_path, outcomes[2:])
    assert path == tmp_path / "samples" / "part-00001.parquet"
    assert append_outcomes(tmp_path, []) is None
    assert read_outcomes(tmp_path) == read_outcomes(tmp_path / "samples") == outcomes
    assert EvalResult.read("x", tmp_path).problems == tuple(group_by_problem(outcomes))


def test_every_field_is_a_column(tmp_path):
    path = append_outcomes(tmp_path, [PROOF])
    assert pq.read_schema(path).names == [field.name for field in fields(Outcome)]


@pytest.mark.parametrize(
    "text",
    ["\ud800", "a\udfffb\ud800\udc00", "\0", "a\0\0b", "\U0010ffff", "\U0010ffff00d800", "\U0010ffff\ud834", "", "\\ud800",
     "\r\n\v\x85\u2028", "𝓝 ∀ ⟨⟩", "\ufffe\uffff\ufeff", "'; DROP TABLE samples; --"],
)  # fmt: skip
def test_any_text_survives(tmp_path, text):
    outcome = replace(
        ERROR, problem_id=f"p{text}", family=text, response=text, messages=(LeanMessage("error", 1, 0, text),), feedback=text
    )
    append_outcomes(tmp_path, [outcome])
    assert read_outcomes(tmp_path) == [outcome]


def test_random_texts_survive(tmp_path):
    generator = random.Random(3)
    alphabet = ["\0", "\ud800", "\udc00", "\U0010ffff", "0", "d", "8", "a", "é", "\U0001d4dd", "\n"]
    outcomes = [replace(PROOF, sample=i, response="".join(generator.choices(alphabet, k=i))) for i in range(300)]
    append_outcomes(tmp_path, outcomes)
    assert read_outcomes(tmp_path) == outcomes


def test_a_later_record_of_a_sample_counts(tmp_path):
    append_outcomes(tmp_path, [replace(ERROR, verdict="unverified"), PROOF])
    append_outcomes(tmp_path, [ERROR, replace(BROKEN, verdict="sorry"), BROKEN])
    problem = EvalResult.read("x", tmp_path).problems[0]
    assert [outcome.verdict for outcome in problem.outcomes] == ["proved", "lean_error", None]
    query = "SELECT sample, verdict FROM samples ORDER BY 1"
    assert sample_rows(tmp_path, query) == [(0, "proved"), (1, "lean_error"), (2, None)]


def test_the_order_of_parts_is_that_of_their_numbers(tmp_path):
    append_outcomes(tmp_path, [replace(PROOF, verdict="sorry")]).rename(tmp_path / "samples" / "part-99999.parquet")
    path = append_outcomes(tmp_path, [PROOF])
    assert path.name == "part-100000.parquet"
    assert [outcome.verdict for outcome in read_outcomes(tmp_path)] == ["sorry", "proved"]
    assert sample_rows(tmp_path, "SELECT verdict FROM samples") == [("proved",)]


def test_counts_need_no_texts(tmp_path):
    append_outcomes(tmp_path, [PROOF, ERROR])
    light = read_outcomes(tmp_path, texts=False)
    assert light[0] == replace(PROOF, response="")
    result, whole = EvalResult.read("x", tmp_path, texts=False), EvalResult.read("x", tmp_path)
    assert result.pass_at_k(1) == whole.pass_at_k(1)


def test_feedback_is_needed_for_rates_with_fixes(tmp_path):
    append_outcomes(tmp_path, [replace(PROOF, no_fix="solved"), ERROR, replace(PROOF, sample=1, turn=2)])
    assert EvalResult.read("x", tmp_path, texts=False).pass_at_k_fixed(1) == EvalResult.read("x", tmp_path).pass_at_k_fixed(1)
    assert EvalResult.read("x", tmp_path).pass_at_k_fixed(1).value == 1.0


def test_a_torn_part_is_named(tmp_path):
    append_outcomes(tmp_path, [PROOF] * 50)
    torn = append_outcomes(tmp_path, [ERROR] * 50)
    append_outcomes(tmp_path, [BROKEN] * 50)
    torn.write_bytes(torn.read_bytes()[:-40])
    for read in (read_outcomes, lambda folder: sample_rows(folder, "SELECT 1 FROM samples")):
        with pytest.raises(InfrastructureError, match=r"part-00001\.parquet is damaged.*remove it"):
            read(tmp_path)


def test_a_part_of_another_kind_is_named(tmp_path):
    append_outcomes(tmp_path, [PROOF])
    pq.write_table(pa.table({"problem_id": ["x"], "sample": [1]}), tmp_path / "samples" / "part-00001.parquet")
    with pytest.raises(InfrastructureError, match=r"part-00001\.parquet is damaged or no part"):
        read_outcomes(tmp_path)


def test_a_foreign_file_is_named(tmp_path):
    append_outcomes(tmp_path, [PROOF])
    (tmp_path / "samples" / ".part-00001.parquet.x.part").write_bytes(b"left by a killed writer")
    assert read_outcomes(tmp_path) == [PROOF]
    (tmp_path / "samples" / "copy of part-00000.parquet").write_bytes(b"")
    with pytest.raises(InfrastructureError, match=r"copy of part-00000\.parquet is no part"):
        append_outcomes(tmp_path, [ERROR])


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(InfrastructureError, match="does not exist"):
        read_outcomes(tmp_path / "none")
    with pytest.raises(InfrastructureError, match="no records"):
        sample_rows(tmp_path / "none", "SELECT 1")


def test_the_prompt_set_in_the_folder_fixes_the_problems(tmp_path):
    from kimina.data.prompts import prompt_row, write_rows

    rows = [
        prompt_row(source="s", split="test", index=i, problem_id=f"p{i}", name="t", statement="theorem t : True := by",
                   informal="", family="conj", level=1)
        for i in range(3)
    ]  # fmt: skip
    write_rows(rows, tmp_path / "prompts.parquet")
    append_outcomes(tmp_path, [PROOF])
    assert [(p.problem_id, p.n) for p in EvalResult.read("x", tmp_path).problems] == [("p0", 0), ("p1", 1), ("p2", 0)]
    append_outcomes(tmp_path, [replace(PROOF, problem_id="other")])
    with pytest.raises(InfrastructureError, match="other"):
        EvalResult.read("x", tmp_path)


def test_a_finished_evaluation_that_lost_a_part_is_refused(tmp_path):
    # Numbers of what is left would be wrong, and nothing would say so.
    for sample in (0, 1):
        append_outcomes(tmp_path, [Outcome("p", "f", 1, sample, "proved", (), 1.0, 10, True)])
    summary = EvalResult.read("before", tmp_path).summary((1,))
    assert len(EvalResult.read("before", tmp_path, expected=summary).outcomes) == 2
    (tmp_path / "samples" / "part-00000.parquet").unlink()
    with pytest.raises(InfrastructureError, match=r"1 of the 2 samples .* remove .*manifest.json"):
        EvalResult.read("before", tmp_path, expected=summary)
