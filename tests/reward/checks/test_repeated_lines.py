"""repeated_lines: six equal significant lines of thought."""

import pytest

TEN = "vector matrix kernel basis field module lattice torsion prime divisor"


@pytest.mark.parametrize(("times", "violated"), [(1, False), (5, False), (6, True), (7, True)])
def test_six_equal_lines(measured, answer, times, violated):
    found = measured("repeated_lines", answer(thought="\n".join([TEN] * times)))
    assert (found["violated"], found["value"], found["threshold"]) == (violated, max(1, times), 6)


@pytest.mark.parametrize(
    "line", [TEN.rsplit(" ", 1)[0], TEN.rsplit(" ", 1)[0] + " of the and it", "wait, check the sign once more", ""]
)
def test_lines_with_few_content_words_may_repeat(measured, answer, line):
    assert not measured("repeated_lines", answer(thought="\n".join([line] * 40)))["violated"]


def test_case_and_indentation_do_not_hide_a_repetition(measured, answer):
    lines = [TEN, TEN.upper(), f"  {TEN}", f"{TEN}  ", TEN.title(), f"\t{TEN}"]
    assert measured("repeated_lines", answer(thought="\n".join(lines)))["violated"]


def test_lines_of_tactic_blocks_and_of_the_answer_do_not_count(measured, answer):
    block = "\n".join([TEN] * 6)
    assert not measured("repeated_lines", answer(tactics=(block, block), lean=block))["violated"]


def test_a_line_that_repeats_within_itself_is_one_line(measured, answer):
    assert not measured("repeated_lines", answer(thought=" ".join([TEN] * 60)))["violated"]


def test_repetitions_far_apart_count(measured, answer):
    filler = "\n".join(f"{TEN} {number}" for number in range(3000))
    found = measured("repeated_lines", answer(thought=f"{TEN}\n{filler}\n" * 3 + TEN), max=4)
    assert (found["violated"], found["value"], found["detail"]) == (True, 4, TEN)


def test_the_most_frequent_significant_line_is_named(measured, answer):
    lines = ["short line"] * 9 + [TEN] * 6 + [f"{TEN} other"] * 7 + [f"{TEN} last"] * 7
    found = measured("repeated_lines", answer(thought="\n".join(lines)))
    assert (found["value"], found["detail"]) == (7, f"{TEN} other")


def test_thresholds(measured, answer):
    output = answer(thought=f"{TEN}\n{TEN}")
    assert measured("repeated_lines", output, max=2)["violated"]
    assert not measured("repeated_lines", output, max=2, min_words=11)["violated"]
    assert measured("repeated_lines", answer(thought=TEN), max=1)["violated"]
