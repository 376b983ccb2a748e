"""Checkpoint folders after kills at awkward moments."""

import pytest

from kimina.errors import InfrastructureError, UserError
from kimina.verl import checkpoints


def save(root, step, *, complete=True):
    folder = checkpoints.folder_of(root, step)
    model = folder / "actor" / "huggingface"
    model.mkdir(parents=True)
    (model / "model.safetensors").write_text(f"weights {step}")
    (model / "tokenizer.json").write_text("{}")
    if complete:
        checkpoints.mark_complete(root, step, keep=2)
    return folder


def test_only_the_newest_complete_checkpoints_are_kept(tmp_path):
    for step in (10, 20, 30, 100):
        save(tmp_path, step)
    assert checkpoints.complete_steps(tmp_path) == [30, 100]
    assert not checkpoints.folder_of(tmp_path, 20).exists()


def test_kill_while_saving_leaves_the_earlier_checkpoint(tmp_path):
    save(tmp_path, 10)
    half = save(tmp_path, 20, complete=False)
    assert checkpoints.repair(tmp_path) == 10
    assert not half.exists()
    assert (tmp_path / checkpoints.TRACKER).read_text() == "10"


@pytest.mark.parametrize("tracker", ["", "20", "nonsense"])
def test_tracker_torn_by_a_kill_is_repaired(tmp_path, tracker):
    save(tmp_path, 10)
    (tmp_path / checkpoints.TRACKER).write_text(tracker)
    assert checkpoints.repair(tmp_path) == 10
    assert (tmp_path / checkpoints.TRACKER).read_text() == "10"


def test_without_a_complete_checkpoint_training_starts_anew(tmp_path):
    save(tmp_path, 5, complete=False)
    (tmp_path / checkpoints.TRACKER).write_text("5")
    assert checkpoints.repair(tmp_path) == 0
    assert list(tmp_path.iterdir()) == []
    assert checkpoints.repair(tmp_path / "never_made") == 0


def test_export_replaces_an_older_export_as_a_whole(tmp_path):
    save(tmp_path / "c", 1)
    target = tmp_path / "hf"
    target.mkdir()
    (target / "stale.json").write_text("{}")
    assert checkpoints.export_model(tmp_path / "c", 1, target) == target
    assert sorted(path.name for path in target.iterdir()) == ["model.safetensors", "tokenizer.json"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_export_without_a_model_says_which_setting_is_missing(tmp_path):
    checkpoints.folder_of(tmp_path, 1).mkdir()
    with pytest.raises(InfrastructureError, match="hf_model"):
        checkpoints.export_model(tmp_path, 1, tmp_path / "hf")


def test_failed_merge_reports_the_merger(tmp_path):
    (checkpoints.folder_of(tmp_path, 1) / "actor").mkdir(parents=True)
    with pytest.raises(InfrastructureError, match="model merger failed"):
        checkpoints.merge_shards(tmp_path, 1, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_a_checkpoint_of_an_earlier_version_is_named_before_anything_starts(tmp_path):
    folder = save(tmp_path / "checkpoints", 10)
    with pytest.raises(UserError, match=r"global_step_10 can't be resumed.*prompt_feed.json is missing.*\n.*remove"):
        checkpoints.check_resumable(tmp_path / "checkpoints", 10)
    (folder / checkpoints.FEED_STATE).write_text("{}")
    checkpoints.check_resumable(tmp_path / "checkpoints", 10)
