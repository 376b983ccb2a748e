"""A published prompt set: column mapping, rows without a theorem, repeated rows, held-out statements, and errors."""

import json

import datasets
import huggingface_hub
import pyarrow.parquet as pq
import pytest

from kimina.data.nano.recipe import row_of
from kimina.data.prompts import prompt_messages, read_rows, write_rows
from kimina.data.promptset import prepare_promptset
from kimina.errors import InfrastructureError, UserError
from kimina.experiment.compose import compose, resolved


def theorem(name, number):
    return f"import Mathlib\n\ntheorem {name} (n : ℕ) (h : n = {number}) : n + 1 = {number + 1} := by sorry"


def test_rows():
    return [
        {"name": f"mathd_{i}", "split": "test", "informal_prefix": f"/-- Problem {i} -/\n", "formal_statement": theorem(f"mathd_{i}", i)}
        for i in range(5)
    ]


test_rows.__test__ = False


def train_rows():
    hard = {"uuid": "hard", "natural_language": "A hard one.", "lean_code": theorem("hard", 100)}
    others = [{"uuid": f"u{i}", "natural_language": f"Problem {i}", "lean_code": theorem(f"t{i}", 10 + i)} for i in range(9)]
    return [hard, *others[:4], dict(hard), *others[4:], dict(hard)]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def shipped():
    """The shipped recipe."""
    return resolved(compose(["model=1p7b"]))["recipe"]


@pytest.fixture
def local_recipe(tmp_path, shipped):
    """The shipped recipe over two local files; keyword arguments replace its entries."""

    def make(train=None, test=None, **changes):
        write_lines(tmp_path / "train.jsonl", train_rows() if train is None else train)
        write_lines(tmp_path / "test.jsonl", test_rows() if test is None else test)
        sources = {"source": str(tmp_path / "train.jsonl"), "test_source": str(tmp_path / "test.jsonl")}
        return {**shipped, **sources, "train_count": 12, "test_count": 5, **changes}

    return make


@pytest.fixture
def prepare(tmp_path, local_recipe):
    """Prepares the recipe; returns the summary, the rows of each split, and what was said."""

    def run(**changes):
        said = []
        summary = prepare_promptset(local_recipe(**changes), tmp_path / "out", said.append)
        splits = {split: read_rows(tmp_path / "out" / f"{split}.parquet") for split in ("train", "dev", "test")}
        return summary, splits, said

    return run


def infos(rows):
    return [row["extra_info"] for row in rows]


def test_columns_are_mapped_and_the_informal_text_is_verbatim(prepare):
    summary, splits, said = prepare()
    assert said == []
    first = splits["test"][0]
    assert first["extra_info"]["problem_id"] == "mathd_0"
    assert first["extra_info"]["name"] == "mathd_0"
    assert first["extra_info"]["informal"] == "/-- Problem 0 -/\n"
    assert first["prompt"] == prompt_messages("/-- Problem 0 -/\n", theorem("mathd_0", 0))
    assert "# Problem:\n/-- Problem 0 -/\n\n\n# Formal Statement:\n```lean4\nimport Mathlib" in first["prompt"][1]["content"]
    assert first["reward_model"] == {"style": "lean", "ground_truth": theorem("mathd_0", 0)}
    assert summary["train"]["columns"] == {"name": "uuid", "informal": "natural_language", "statement": "lean_code"}
    assert summary["test"]["columns"]["informal"] == "informal_prefix"


def test_repeated_rows_are_kept_and_every_id_is_its_own(prepare):
    summary, splits, _ = prepare()
    ids = [info["problem_id"] for info in infos(splits["train"])]
    assert len(ids) == 12 and len(set(ids)) == 12
    assert [i for i in ids if i.startswith("hard")] == ["hard", "hard#2", "hard#3"]
    assert summary["splits"]["train"] == {"rows": 12, "statements": 10}
    assert [info["index"] for info in infos(splits["train"])] == list(range(12))


def test_without_a_development_split_its_file_holds_the_test_rows(prepare):
    summary, splits, _ = prepare(dev_count=0)
    assert splits["dev"] == splits["test"]
    assert summary["dev"] == {"same_as": "test"}
    assert {info["split"] for info in infos(splits["dev"])} == {"test"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_held_out_statements_leave_the_training_rows_with_all_their_copies(prepare, seed):
    summary, splits, _ = prepare(dev_count=4, seed=seed)
    dev, train = infos(splits["dev"]), infos(splits["train"])
    assert len(dev) == len({info["statement"] for info in dev}) == 4
    assert not {info["statement"] for info in dev} & {info["statement"] for info in train}
    assert len(train) + len(dev) + summary["dev"]["rows_left_out"] == 12
    assert {info["split"] for info in dev} == {"dev"}


def test_the_seed_draws_the_held_out_statements(prepare):
    def drawn(seed):
        return [info["statement"] for info in infos(prepare(dev_count=4, seed=seed)[1]["dev"])]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(6)}) > 1


def test_a_held_out_theorem_does_not_return_under_another_name(prepare):
    again = [{"uuid": "again", "natural_language": "", "lean_code": "-- same\n" + theorem("other_name", 100)}]
    for seed in range(8):
        _, splits, _ = prepare(train=train_rows() + again, train_count=13, dev_count=5, seed=seed)
        dev = {info["statement"].split("(n")[1] for info in infos(splits["dev"])}
        assert not dev & {info["statement"].split("(n")[1] for info in infos(splits["train"])}


def test_rows_without_a_theorem_are_counted_and_named(prepare):
    bad = [
        {"uuid": "b1", "natural_language": "x", "lean_code": "import Mathlib\n-- nothing here"},
        {"uuid": "b2", "natural_language": "x", "lean_code": None},
        {"uuid": "b3", "natural_language": None, "lean_code": theorem("fine", 77)},
    ]
    summary, splits, said = prepare(train=train_rows() + bad, train_count=15)
    refused = summary["train"]["refused"]
    assert refused["count"] == 2
    assert "b1" in refused["rows"][0] and "b2" in refused["rows"][1]
    assert summary["train"]["without_informal"] == 1
    assert summary["train"]["read"] == 15 and len(splits["train"]) == 13
    assert len(said) == 1 and "2 of 15 rows" in said[0] and "b1" in said[0]


def test_statements_in_train_and_test_are_said(prepare):
    leak = [{"uuid": "leak", "natural_language": "x", "lean_code": theorem("renamed", 3)}]
    summary, _, said = prepare(train=train_rows() + leak, train_count=13)
    assert summary["statements_in_train_and_test"] == 1
    assert "1 statements" in said[0]


def test_other_counts_than_stated_are_said_and_nothing_is_cut(prepare):
    summary, splits, said = prepare(train_count=5, test_count=244)
    assert len(splits["train"]) == 12 and len(splits["test"]) == 5
    assert len(said) == 2 and "has 5 rows; the recipe states 244" in said[0]


def test_a_limit_uses_the_first_rows(prepare):
    _, splits, said = prepare(limit=3)
    assert [info["problem_id"] for info in infos(splits["train"])] == ["hard", "u0", "u1"]
    assert len(splits["test"]) == 3 and said == []


def test_the_fingerprint_follows_the_content(prepare):
    first, again = prepare()[0]["fingerprint"], prepare()[0]["fingerprint"]
    changed = test_rows()
    changed[4]["informal_prefix"] = "/-- another -/"
    assert first == again != prepare(test=changed)[0]["fingerprint"]
    assert len(first) == 64


def test_a_missing_column_lists_what_exists_and_what_to_type(prepare):
    rows = [{"id": "a", "formal_statment": theorem("a", 1)}]
    with pytest.raises(UserError) as caught:
        prepare(test=rows)
    assert "id, formal_statment" in str(caught.value)
    assert "type: recipe.columns.informal=[" in str(caught.value) and "recipe.columns.informal=[] if" in str(caught.value)
    columns = {"name": ["id"], "informal": [], "statement": ["formal_statement"]}
    with pytest.raises(UserError, match=r"type: recipe.columns.statement=\[formal_statment\]"):
        prepare(test=rows, columns=columns)


def test_an_empty_list_says_that_there_is_no_such_column(prepare):
    rows = [{"s": theorem("a", 1)}, {"s": theorem("a", 2)}]
    columns = {"name": [], "informal": [], "statement": ["s", "lean_code"]}
    _, splits, _ = prepare(test=rows, test_count=2, columns=columns)
    assert [(info["problem_id"], info["informal"]) for info in infos(splits["test"])] == [("a", ""), ("a#2", "")]


def test_nothing_usable_is_an_error(prepare):
    with pytest.raises(UserError, match="no row has a theorem"):
        prepare(test=[{"name": "a", "informal_prefix": "", "formal_statement": "nothing"}])
    with pytest.raises(UserError, match="has no rows"):
        prepare(train=[])
    with pytest.raises(UserError, match=r"type: recipe.dev_count=1"):
        prepare(dev_count=10)


def test_parquet_files_and_folders_are_read_in_order(tmp_path, local_recipe):
    folder = tmp_path / "set" / "data"
    folder.mkdir(parents=True)
    rows = train_rows()
    for index, part in enumerate((rows[:5], rows[5:])):
        datasets.Dataset.from_list(part).to_parquet(folder / f"train-{index:05d}-of-00002.parquet")
    datasets.Dataset.from_list(test_rows()).to_parquet(folder / "test-00000-of-00001.parquet")
    said = []
    prepare_promptset(local_recipe(source=str(folder.parent)), tmp_path / "a", said.append)
    prepare_promptset(local_recipe(), tmp_path / "b", said.append)
    assert said == []
    by_folder, by_file = (read_rows(tmp_path / name / "train.parquet") for name in "ab")
    assert [row["extra_info"] for row in by_folder] == [row["extra_info"] for row in by_file]


def test_both_recipes_and_an_empty_split_have_one_schema(tmp_path, prepare, splits):
    prepare(dev_count=2)
    write_rows([row_of(problem, "dev", i) for i, problem in enumerate(splits.dev[:3])], tmp_path / "nano.parquet")
    write_rows([], tmp_path / "empty.parquet")
    schema = pq.read_schema(tmp_path / "nano.parquet")
    assert schema.names == ["data_source", "prompt", "ability", "reward_model", "extra_info"]
    for other in ("empty.parquet", "out/train.parquet", "out/dev.parquet", "out/test.parquet"):
        assert pq.read_schema(tmp_path / other).equals(schema)
    assert read_rows(tmp_path / "nano.parquet")[0]["extra_info"]["reference_proof"] == splits.dev[0].lean(splits.dev[0].proof())


@pytest.mark.parametrize("source", ["missing.jsonl", "./nowhere", "no folder", "data/set.parquet"])
def test_a_missing_file_is_a_users_error(prepare, source):
    with pytest.raises(UserError, match="type: recipe.source="):
        prepare(source=source)


def test_damaged_files_are_named(tmp_path, prepare):
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"name": "a"}\n{"na', encoding="utf-8")
    with pytest.raises(UserError, match=r"torn.jsonl, line 2: not JSON"):
        prepare(source=str(torn))
    fake = tmp_path / "fake.parquet"
    fake.write_text("no parquet")
    with pytest.raises(UserError, match=r"fake.parquet is no parquet file"):
        prepare(source=str(fake))
    other = tmp_path / "notes.txt"
    other.write_text("x")
    with pytest.raises(UserError, match="a prompt set is a"):
        prepare(source=str(other))


def test_a_hub_data_set_is_read_at_its_split_and_revision(monkeypatch, prepare):
    asked = []

    def load(name, *, split, revision):
        asked.append((name, split, revision))
        return datasets.Dataset.from_list(train_rows())

    monkeypatch.setattr(datasets, "load_dataset", load)
    _, splits, _ = prepare(source="AI-MO/Kimina-Prover-Promptset", revision="abc")
    assert asked == [("AI-MO/Kimina-Prover-Promptset", "train", "abc")]
    assert splits["train"][0]["data_source"] == "AI-MO/Kimina-Prover-Promptset"


def test_without_a_network_the_error_says_so(monkeypatch, prepare, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    with pytest.raises(InfrastructureError, match=r"could not be downloaded .*\n  type: recipe.source=FOLDER"):
        prepare(source="someone/a-set-that-no-cache-has")


@pytest.mark.parametrize(
    ("raised", "error", "text"),
    [
        (datasets.exceptions.DatasetNotFoundError("Dataset 'a/b' doesn't exist"), UserError, "the hub has no such data set"),
        (ConnectionError("Couldn't reach the hub"), InfrastructureError, "could not be downloaded"),
        (TimeoutError("timed out"), InfrastructureError, "could not be downloaded"),
        (ValueError("Unknown split \"train\". Should be one of ['test', 'valid']."), UserError, "type: recipe.split="),
    ],
)
def test_errors_of_the_hub_are_ours(monkeypatch, prepare, raised, error, text):
    def fail(*_, **__):
        raise raised

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(error, match=text):
        prepare(source="a/b")
