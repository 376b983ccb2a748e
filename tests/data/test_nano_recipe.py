"""The nano data stage: files, summary, and a refused reference proof."""

from dataclasses import replace

import pytest

from kimina.data.nano import recipe as nano_recipe
from kimina.data.nano.build import build_splits
from kimina.data.nano.recipe import prepare_nano, row_of
from kimina.data.prompts import read_rows
from kimina.errors import InfrastructureError

SMALL = {"seed": 5, "train_count": 24, "dev_count": 8, "test_count": 8}


def test_splits_are_written_with_their_checked_proofs(tmp_path, embedded):
    seen = []
    summary = prepare_nano(SMALL, embedded, tmp_path, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (40, 40) and len(seen) == 40
    ids = set()
    expected = build_splits(*SMALL.values())
    for split in ("train", "dev", "test"):
        rows = read_rows(tmp_path / f"{split}.parquet")
        assert rows == [row_of(problem, split, i) for i, problem in enumerate(getattr(expected, split))]
        assert summary["splits"][split]["statements"] == len(rows) == SMALL[f"{split}_count"]
        ids |= {row["extra_info"]["problem_id"] for row in rows}
    assert len(ids) == 40
    assert prepare_nano(SMALL, embedded, tmp_path, lambda *_: None) == summary
    assert prepare_nano({**SMALL, "seed": 6}, embedded, tmp_path, lambda *_: None)["fingerprint"] != summary["fingerprint"]


def test_a_refused_reference_proof_stops_the_stage(tmp_path, embedded, monkeypatch):
    splits = build_splits(*SMALL.values())
    broken = replace(splits.train[0], lines=(("exact nothing_of_that_name",),))
    monkeypatch.setattr(nano_recipe, "build_splits", lambda *_: replace(splits, train=[broken, *splits.train[1:]]))
    with pytest.raises(InfrastructureError, match="1 of 40 reference proofs"):
        prepare_nano(SMALL, embedded, tmp_path, lambda *_: None)
    assert not list(tmp_path.iterdir())
