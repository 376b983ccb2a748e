"""stage=plan with a paper's table."""

import json

from support.evaluations import finish

from kimina.experiment.cli import main
from kimina.experiment.stages.paper_rows import plan_rows
from kimina.experiment.stages.table_plan import plan_table
from kimina.tables.declaration import load_table

TABLE = "kimina_rl_minif2f"


def test_the_plan_of_a_table_says_what_building_would_run(tmp_path, capsys):
    table, words = load_table(TABLE), ["scale=nano", f"output_dir={tmp_path}"]
    plan = plan_table(table, words, tmp_path)
    rows = {row.id: row for row in plan.rows}
    assert rows["distill_1p7b"].to_do == ("eval",) and "evaluation.model=start" in rows["distill_1p7b"].command
    assert rows["rl_1p7b_single_turn"].to_do == ("rl", "eval")
    # At this scale both sizes are one run.
    assert (rows["rl_0p6b_single_turn"].made_by, rows["rl_0p6b_single_turn"].command) == ("rl_1p7b_single_turn", None)
    assert main([*words, "stage=plan", f"table={TABLE}"]) == 0
    shown = capsys.readouterr().out
    assert "would run 3 commands: 2 x rl, 3 x eval" in shown and rows["rl_1p7b_single_turn"].command in shown
    assert plan.build in shown and not any(tmp_path.iterdir())


def test_a_row_whose_method_is_missing_is_not_planned(tmp_path):
    rows = {row.id: row for row in plan_table(load_table("k15_long2short"), ["scale=nano"], tmp_path).rows}
    assert rows["merge"].status == "method not built" and rows["merge"].command is None


def test_the_plan_of_a_table_leaves_out_what_is_done(tmp_path, capsys):
    table, words = load_table(TABLE), ["scale=nano", f"output_dir={tmp_path}"]
    finish(plan_rows(table, words, tmp_path, remember=False)["distill_1p7b"].folders["start"])
    assert main([*words, "stage=plan", f"table={TABLE}", "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["table"]["rows"]}
    assert (rows["distill_1p7b"]["status"], rows["distill_1p7b"]["command"]) == ("done", None)
    assert rows["rl_1p7b_single_turn"]["to_do"] == ["rl", "eval"]
