"""The rows of a paper's table: what each is composed of, where its artifacts lie, and what there is of it."""

from pathlib import Path

import pytest
from support.evaluations import finish

from kimina.durable import read_json, write_json
from kimina.errors import InfrastructureError
from kimina.evaluation import Outcome, append_outcomes
from kimina.evaluation.problem_counts import COUNTS_FILE
from kimina.experiment.artifact import Artifact
from kimina.experiment.compose import compose, resolved
from kimina.experiment.stages import paper_rows
from kimina.experiment.stages.graph import build_graph
from kimina.experiment.stages.paper_rows import plan_rows, row_state, words_for_rows
from kimina.tables.declaration import load_table
from kimina.tables.paper_table import RowStatus

ABLATIONS = "kimina_rl_ablations"


def state_of(row_id: str, words, output_dir):
    table = load_table(ABLATIONS)
    plans = plan_rows(table, words, output_dir)
    return row_state(table.row(row_id), plans.get(row_id))


@pytest.fixture
def words(tmp_path):
    return ["stage=table", f"table={ABLATIONS}", "scale=nano", "seed=3", "table.build=true", f"output_dir={tmp_path}"]


def test_what_belongs_to_the_table_does_not_go_to_its_rows(words):
    assert words_for_rows(words) == ["scale=nano", "seed=3", words[-1]]
    assert words_for_rows(["+table.page=false", "experiments=nano", "+seed=2"]) == ["+seed=2"]


def test_a_row_is_its_experiment_with_what_was_typed(words, tmp_path):
    plan = plan_rows(load_table(ABLATIONS), words, tmp_path)["without_repeated_lines"]
    assert plan.words == ("experiments=kimina_rl/ablations/without_repeated_lines", "scale=nano", "seed=3", words[-1])
    graph = build_graph(resolved(compose(plan.words)))
    assert plan.folders == {"start": str(graph.before.folder), "after": str(graph.after.folder), "rl": str(graph.rl.folder)}
    assert plan.command.endswith("stage=eval") and plan.command.startswith("python run.py experiments=kimina_rl/")
    assert "evaluation.model=start stage=eval" in plan_rows(load_table(ABLATIONS), words, tmp_path)["start"].command


def test_a_table_with_error_fixing_asks_its_rows_for_fix_turns(words, tmp_path):
    plans = plan_rows(load_table("kimina_rl_minif2f"), words, tmp_path)
    assert "evaluation.fix_turns=1" in plans["rl_1p7b_single_turn"].words
    other = plan_rows(load_table(ABLATIONS), words, tmp_path)["single_turn"]
    assert plans["rl_1p7b_single_turn"].folders["rl"] == other.folders["rl"]
    assert plans["rl_1p7b_single_turn"].folders["after"] != other.folders["after"]
    typed = plan_rows(load_table("kimina_rl_minif2f"), [*words, "evaluation.fix_turns=0"], tmp_path)["rl_1p7b_single_turn"]
    assert typed.folders["after"] == other.folders["after"]


def test_rows_share_what_they_have_in_common(words, tmp_path):
    plans = plan_rows(load_table(ABLATIONS), words, tmp_path)
    assert plans["start"].folders["start"] == plans["single_turn"].folders["start"]
    assert plans["grpo"].folders["after"] != plans["single_turn"].folders["after"]
    # The nano twin of the recipe is what runs when nothing is asked for.
    default = build_graph(resolved(compose(["seed=3", f"output_dir={tmp_path}"])))
    assert plans["single_turn"].folders["rl"] == str(default.rl.folder)


def test_the_states_of_a_row(words, tmp_path):
    assert state_of("data_no_variants", words, tmp_path).status is RowStatus.NOT_BUILT
    state = state_of("grpo", words, tmp_path)
    assert (state.status, state.run) == (RowStatus.NOT_RUN, None)
    rl = Artifact.at(plan_rows(load_table(ABLATIONS), words, tmp_path)["grpo"].folders["rl"])

    def looked_at_meanwhile(_: Artifact) -> None:
        seen = state_of("grpo", words, tmp_path)
        assert seen.status is RowStatus.RUNNING and "rl: running in process" in seen.detail
        raise ValueError("no luck\nat all")

    with pytest.raises(ValueError):
        rl.produce(looked_at_meanwhile, {})
    state = state_of("grpo", words, tmp_path)
    assert (state.status, state.detail) == (RowStatus.FAILED, "rl: no luck")
    rl.produce(lambda made: None, {})
    finish(state.folder)
    state = state_of("grpo", words, tmp_path)
    assert state.status is RowStatus.DONE
    assert (state.run.evaluation, state.run.samples, state.run.problems[0].c, state.run.facts["lean"]) == ("nano", 4, 1, "4.35.0")


def test_a_row_that_does_not_compose_says_why_and_spoils_no_other(words, tmp_path):
    asked = [*words, "reward.checks.repeated_lines.max=0"]
    plans = plan_rows(load_table(ABLATIONS), asked, tmp_path)
    state = row_state(load_table(ABLATIONS).row("grpo"), plans["grpo"])
    assert state.status is RowStatus.NOT_AT_THIS_SCALE and "reward.checks.repeated_lines.max" in state.detail
    assert set(plans) == {row.id for row in load_table(ABLATIONS).rows} - {
        "data_all_win_rates", "data_no_variants", "data_no_duplicates",
    }  # fmt: skip


def test_composing_is_remembered_until_the_configuration_changes(words, tmp_path, monkeypatch):
    first = plan_rows(load_table(ABLATIONS), words, tmp_path)
    real = paper_rows.compose
    monkeypatch.setattr(paper_rows, "compose", lambda words: pytest.fail("composed again"))
    assert plan_rows(load_table(ABLATIONS), words, tmp_path) == first
    composed = []
    monkeypatch.setattr(paper_rows, "compose", lambda words: composed.append(words) or real(words))
    other = plan_rows(load_table(ABLATIONS), [*words, "loss=grpo"], tmp_path)
    assert composed and other["single_turn"].folders["rl"] == first["grpo"].folders["rl"]
    composed.clear()
    monkeypatch.setattr(paper_rows, "_configuration_digest", lambda: "of another configuration")
    assert plan_rows(load_table(ABLATIONS), words, tmp_path) == first and composed


@pytest.mark.parametrize("damage", [None, "", "[]", '{"schema": 2, "problems": []}', '{"schema": 9}', '{"schema": 2, "problems": [1]}'])
def test_lost_or_damaged_counts_are_made_again_from_the_records(words, tmp_path, damage):
    folder = Path(plan_rows(load_table(ABLATIONS), words, tmp_path)["start"].folders["start"])
    finish(str(folder))
    append_outcomes(folder, [Outcome("p", "f", 1, sample, "proved" if sample else "failed", (), 1.0, 10, True) for sample in range(4)])
    (folder / COUNTS_FILE).unlink() if damage is None else (folder / COUNTS_FILE).write_text(damage)
    [counted] = state_of("start", words, tmp_path).run.problems
    assert (counted.n, counted.c) == (4, 3)


def test_counts_that_cannot_be_made_again_are_no_traceback(words, tmp_path):
    folder = plan_rows(load_table(ABLATIONS), words, tmp_path)["start"].folders["start"]
    finish(folder, counts=[{"problem_id": "p"}])
    with pytest.raises(InfrastructureError, match="samples does not exist"):
        state_of("start", words, tmp_path)


def test_a_manifest_without_its_settings_is_explained(words, tmp_path):
    folder = plan_rows(load_table(ABLATIONS), words, tmp_path)["start"].folders["start"]
    write_json(Path(folder) / "manifest.json", {"status": "done"})
    with pytest.raises(InfrastructureError, match="no manifest of a finished evaluation"):
        state_of("start", words, tmp_path)


@pytest.mark.parametrize("damage", ["", "[]", "null", '{"digest"', "other shape"])
def test_a_damaged_memory_of_composing_is_not_used(words, tmp_path, damage):
    table = load_table("drgrpo")
    first = plan_rows(table, words, tmp_path)
    path = tmp_path / "table" / paper_rows.COMPOSED
    if damage == "other shape":
        content = read_json(path)
        write_json(path, {**content, "rows": {key: {"folders": {"start": 1}} for key in content["rows"]}})
    else:
        path.write_text(damage)
    assert plan_rows(table, words, tmp_path) == first


def test_files_of_the_users_own_are_not_remembered_by_their_names(words, tmp_path):
    # Their content counts, and may be another the next time.
    prompts = tmp_path / "mine.jsonl"
    prompts.write_text('{"id": "a", "statement": "theorem t : True := by"}')
    table, asked = load_table("drgrpo"), [*words, f"++evaluation.prompts={prompts}"]
    first = plan_rows(table, asked, tmp_path)
    prompts.write_text('{"id": "a", "statement": "theorem t : 1 = 1 := by"}')
    second = plan_rows(table, asked, tmp_path)
    assert all(first[row].folders["after"] != second[row].folders["after"] for row in first)
    assert all(first[row].folders["rl"] == second[row].folders["rl"] for row in first)
