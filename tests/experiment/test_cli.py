"""The command line: exit codes, flags, the plan, and what must not be imported on the way."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest
import yaml

from kimina.experiment.cli import help_text, main
from kimina.experiment.options import GROUPS, REPOSITORY, option_names

HEAVY = ("torch", "verl", "ray", "transformers", "wandb", "numpy", "pydantic", "rich", "pyarrow")


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    "word", ["modle=1p7b", "+reward.tpyo=1", "model=1p7", "actor_rollout_ref.rollout.n=1", "--model.x=1"]
)
def test_the_mistakes_of_the_issue_fail_with_one_message_and_exit_code_2(word):
    code, out, err = run(word)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ") and err.count("error:") == 1
    assert "Traceback" not in err
    assert word.lstrip("-+").partition("=")[0].partition(".")[0] in err


def test_cfg_job_prints_the_whole_configuration_as_yaml():
    code, out, err = run("--cfg", "job", "model=1p7b")
    assert (code, err) == (0, "")
    config = yaml.safe_load(out)
    assert config["model"]["name"] == "1p7b" and config["trainer"]["total_epochs"] == 15
    assert "hydra" not in config


def test_cfg_shows_a_part_resolved_and_hydras_own():
    assert run("--cfg", "job", "--package", "sampling")[1] == "name: uniform\n"
    assert run("--cfg=job", "-p", "actor_rollout_ref.actor.loss_scale_factor")[1] == "192\n"
    assert yaml.safe_load(run("--cfg", "job", "--resolve")[1])["actor_rollout_ref"]["rollout"]["prompt_length"] == 192
    assert set(yaml.safe_load(run("--cfg", "hydra")[1])) == {"hydra"}
    assert {"hydra", "model"} <= set(yaml.safe_load(run("--cfg", "all")[1]))


def test_wrong_flags_fail_with_the_flags_that_exist():
    for words in (
        ["--cfg", "jb"],
        ["--cfg"],
        ["--cfg", "job", "--package", "los"],
        ["--config-name", "x"],
        ["-m"],
        ["--what"],
    ):
        code, _, err = run(*words)
        assert code == 2 and "type: python run.py" in err


def test_help_lists_every_group_and_option():
    code, out, _ = run("--help")
    assert code == 0 and out.strip() == help_text()
    lines = out.splitlines()
    for group in GROUPS:
        first = next(index for index, line in enumerate(lines) if line.startswith(f"  {group} "))
        last = next(index for index in range(first + 1, len(lines)) if not lines[index].startswith(" " * 10))
        assert all(option in " ".join(lines[first:last]).split() for option in option_names(group))
        assert group != "experiments" or max(map(len, lines[first:last])) <= 130


def test_info_says_which_options_were_chosen():
    out = run("--info", "model=1p7b")[1]
    assert any(line.split() == ["cluster", "h100x8"] for line in out.splitlines())


def test_warnings_go_to_the_error_stream():
    code, out, err = run("--cfg", "job", "actor_rollout_ref.actor.optim.lr=0")
    assert code == 0 and err.startswith("warning: actor_rollout_ref.actor.optim.lr=0")
    assert yaml.safe_load(out)


def test_a_plan_of_the_published_recipe():
    plan = json.loads(run("model=1p7b", "loss=drgpo", "reward=strict", "stage=plan", "--json")[1])
    assert list(plan["stages"]) == ["data", "rl", "eval", "table"]
    assert plan["batch"] == {
        "prompts": 256, "group_size": 8, "responses": 2048, "mini_batch_prompts": 32, "mini_batch_responses": 256,
        "optimiser_updates": 8, "workers": 8, "micro_batch_responses": 2, "gradient_accumulation": 16,
    }  # fmt: skip
    assert (plan["steps"]["per_epoch"], plan["steps"]["total"]) == (95, 1425)
    cost = plan["step_cost"]
    assert cost["tokens_at_most"] == 2048 * (8192 + 24576) and cost["proofs_at_most"] == 2048
    assert cost["verification_seconds"] == pytest.approx(2048 / 4.33)  # papers.md C3: 7.9 minutes
    assert cost["generation_seconds"] == pytest.approx(2048 * 8000 / 12000)
    assert plan["verl_settings"]["actor_rollout_ref.actor.optim.lr"] == {"value": 2e-6, "verl": 1e-6}
    assert plan["evaluation"]["responses"] == 244 * 32
    assert all(isinstance(sentence, str) for sentence in plan["machine"])


def test_a_plan_of_the_nano_experiment_for_people():
    code, out, err = run("stage=plan")
    assert (code, err) == (0, "")
    assert "24 prompts x 8 = 192" in out and "warm start" in out and "assumption" in out
    assert "actor_rollout_ref.actor.optim.lr = 0.0015  (verl: 1e-06)" in out


def test_the_server_rate_decides_whether_verification_keeps_up():
    slow = run("model=1p7b", "stage=plan", "verifier.proofs_per_second=0.5")[1]
    fast = run("model=1p7b", "stage=plan", "verifier.proofs_per_second=50")[1]
    assert "slower than generation" in slow and "fits into generation" in fast


def test_every_composition_has_a_plan():
    for group in ("model", "verifier", "cluster"):
        for option in option_names(group):
            assert run(f"{group}={option}", "stage=plan", "--json")[0] == 0


def test_the_configuration_is_shown_without_heavy_imports(tmp_path):
    """Started elsewhere, it makes no file and no folder there."""
    program = (
        "import sys; from kimina.experiment.cli import main; code = main(sys.argv[1:]); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", program, "--cfg", "job", "model=1p7b", "reward=strict"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.strip()) == (0, "[]")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} run.py --cfg job | head -n 1"
    done = subprocess.run(["bash", "-c", command], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == "model_engine: dp\n" and done.stderr == ""
