"""A text in parts has the lines of the whole."""

from hypothesis import given
from hypothesis import strategies as st

from kimina.reward import lines
from kimina.reward.lines import code_lines, parts, stripped_line_count

whole_lines = st.lists(st.text(alphabet="ab \t\r", max_size=12), max_size=20).map("\n".join)


@given(st.lists(whole_lines, min_size=1, max_size=5), st.integers(0, 9))
def test_parts_have_the_lines_of_the_stretches(stretches, size):
    text = "\n".join(stretches)
    edges, start = [], 0
    for stretch in stretches:
        # With its line break, as a stretch of a text ends behind one.
        end = min(start + len(stretch) + 1, len(text))
        edges.append((start, end))
        start = end
    before, lines._PART = lines._PART, size
    try:
        found = [line for part in parts(text, edges) for line in part.split("\n") if line]
    finally:
        lines._PART = before
    assert found == [line for line in text.split("\n") if line]


def test_a_line_is_never_cut():
    long = "x" * 200_000
    assert list(parts(f"{long}\n{long}", [(0, 400_001)])) == [long, long]
    assert [len(part) for part in parts("ab\n" * 100_000, [(0, 300_000)])] == [65537, 65537, 65537, 65537, 37848]


def test_code_lines():
    assert list(code_lines("\n a \r\n\n\tb c\n")) == ["a", "b c"]


@given(st.text(alphabet="a\n \t\u2028", max_size=20), st.sampled_from(["", " " * 255, "\n" * 256, " \n" * 1000, "b" * 300]))
def test_lines_of_a_stripped_text(text, filler):
    for whole in (text, text + filler, filler + text, filler + text + filler):
        assert stripped_line_count(whole, whole.count("\n") + 1) == whole.strip().count("\n") + 1
