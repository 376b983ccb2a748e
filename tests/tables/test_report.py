import base64
import json
import re
from html.parser import HTMLParser

import pytest

from kimina.errors import InfrastructureError
from kimina.tables import RunFacts, write_report
from kimina.tables.examples import choose_examples
from kimina.tables.run_facts import count

VOID = {"meta", "img", "source", "br", "link", "hr", "input"}
FACTS = RunFacts(
    name="nano <i>",
    command="python run.py loss=drgpo 'x=<y>'",
    model="nano",
    parameters=680_000,
    date="2026-01-02T03:04:05+00:00",
    commit="0123456789abcdef0123",
    dirty=True,
    lean_version="4.35.0",
    hardware="2 CPU cores",
    duration_s=754.0,
)


class Page(HTMLParser):
    """Collects elements and checks that they are closed in order."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


@pytest.fixture(scope="module")
def report(tmp_path_factory, table, metrics, hostile):
    statements = {f"p{index:02d}": f"theorem p{index:02d} : ∀ x, x = x := {hostile}" for index in range(40)}
    return write_report(
        tmp_path_factory.mktemp("report"),
        table,
        FACTS,
        metrics=metrics,
        statements=statements,
        informal={example.before.problem_id: hostile for example in choose_examples(table)},
    )


@pytest.fixture(scope="module")
def page(report):
    parsed = Page()
    parsed.feed(report.page.read_text(encoding="utf-8"))
    parsed.close()
    return parsed


def test_the_page_is_well_formed(page):
    assert page.open == []
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == 1
    assert tags.count("h2") == 6
    assert ("html", {"lang": "en"}) in page.elements
    assert any(attrs.get("name") == "viewport" for tag, attrs in page.elements if tag == "meta")


def test_the_page_needs_nothing_from_outside(report, page):
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "iframe", "object", "embed", "form", "base"}
    for tag, attrs in page.elements:
        for name, value in attrs.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "srcset", "href"):
                assert value.startswith("data:image/svg+xml;base64,"), value[:80]
    style = re.search(r"<style>(.*?)</style>", report.page.read_text(encoding="utf-8"), re.S).group(1)
    assert "url(" not in style
    assert "@import" not in style
    policy = next(
        attrs["content"] for tag, attrs in page.elements if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy


def test_the_images_refer_to_nothing_from_outside(page):
    images = [attrs.get("src") or attrs["srcset"] for tag, attrs in page.elements if tag in ("img", "source")]
    assert len(images) == 12
    for image in images:
        svg = base64.b64decode(image.partition(",")[2]).decode("utf-8")
        assert svg.lstrip().startswith("<?xml")
        assert "<script" not in svg
        assert not re.search(r'href="(?!#)', svg)


def test_what_models_data_and_lean_wrote_is_text(page):
    shown = "".join(page.text)
    assert shown.count('<script>alert("x")</script>') >= 8
    assert "<b>iff</b>" in shown
    assert "nano <i>" in shown
    assert FACTS.command in shown
    assert not [tag for tag, _ in page.elements if tag in ("b", "i") and tag == "i"]


def test_every_image_has_a_description(page):
    assert all(attrs.get("alt") for tag, attrs in page.elements if tag == "img")


def test_the_head_names_the_run(page):
    shown = "".join(page.text)
    for text in (
        "nano, 680 k parameters",
        "4.35.0",
        "2026-01-02 03:04:05 UTC",
        "0123456789ab with local changes",
        "13 min",
    ):
        assert text in shown, text


def test_the_page_says_how_the_numbers_were_made(page):
    shown = " ".join("".join(page.text).split())
    for text in (
        "1 − C(n−c, k) / C(n, k)",
        "bootstrap over theorems",
        "McNemar",
        "Holm",
        "40 theorems, 16 samples each",
    ):
        assert text in shown, text


def test_result_json_carries_the_run_and_the_table(report, table):
    result = json.loads(report.result.read_text(encoding="utf-8"))
    assert result["schema"] == 1
    assert result["run"]["command"] == FACTS.command
    assert result["rows"][0]["pass_at_k"]["1"]["gain"] == table.overall.cells[0].gain.gain
    assert result["before"]["violations"]["statement_changed"] > 0


def test_all_files_are_there_and_their_paths_are_told(report):
    for path in (report.page, report.result, report.markdown, report.latex, report.csv, *report.figures.values()):
        assert path.stat().st_size > 100
    assert len(report.figures) == 6
    lines = report.lines()
    assert str(report.page) in lines[0]
    assert "*.png" in lines[-1]
    assert not list(report.page.parent.glob(".*"))


def test_the_same_run_gives_the_same_page(tmp_path, report, table, metrics):
    one = write_report(tmp_path, table, FACTS, metrics=metrics).page.read_bytes()
    assert write_report(tmp_path, table, FACTS, metrics=metrics).page.read_bytes() == one


def test_a_report_that_cannot_be_written_is_an_infrastructure_error(tmp_path, table):
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError):
        write_report(tmp_path / "file", table, FACTS)


def test_examples_are_chosen_by_rule(table):
    examples = choose_examples(table)
    assert 3 <= len(examples) <= 6
    assert len({example.before.problem_id for example in examples}) == len(examples)
    first = examples[0]
    assert first.why == "not solved before, solved after"
    assert first.before.problem_id in table.ability.gained
    assert (first.before_sample.success, first.after_sample.success) == (False, True)
    assert examples[-1].why == "solved by neither"
    assert first.before_sample.message is not None
    assert choose_examples(table) == examples


def test_facts_of_a_manifest():
    manifest = {
        "name": "nano",
        "finished": "2026-01-02T03:04:05+00:00",
        "seconds": 60.0,
        "git": {"commit": "a" * 40, "dirty": False},
        "lean": {"version": "4.35.0"},
        "hardware": {"usable_cores": 2, "gpus": [], "memory_bytes": 24 * 2**30, "memory_limit_bytes": None},
    }
    facts = RunFacts.of_manifest(manifest, command="x", model="nano", parameters=None)
    assert facts.hardware == "2 CPU cores, 24 GiB memory"
    assert ("Model", "nano") in facts.lines()
    bare = RunFacts.of_manifest({}, command="x", model="", parameters=None)
    assert bare.lines() == []
    assert [count(number) for number in (12, 680_000, 1_720_000_000, 235_000_000_000)] == [
        "12",
        "680 k",
        "1.7 B",
        "235 B",
    ]
