"""Commands, scopes and full names of a Lean file."""

import time

import pytest

from kimina.lean.source import LeanSource, normalized


def declared(text):
    source = LeanSource(text)
    return [source.full_name(command) for command in source.commands if command.word in ("theorem", "def", "class")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("theorem a : True", ["a"]),
        ("namespace A.B\ntheorem c : True\nend A.B\ntheorem d : True", ["A.B.c", "d"]),
        ("namespace A.B\nend B\ntheorem c : True", ["A.c"]),
        ("namespace A\nsection\ntheorem c : True\nend\nend A\ntheorem d : True", ["A.c", "d"]),
        ("section S.T\nend S.T\nnamespace A\ntheorem c : True", ["A.c"]),
        ("namespace A\ntheorem _root_.c : True", ["c"]),
        ("namespace A\nmutual\ndef c := 1\nend\ndef d := 1\nend A", ["A.c", "A.d"]),
        ("end\nend A\ntheorem c : True", ["c"]),
        ("noncomputable section\ndef c := 1", ["c"]),
        ("theorem -- x\n /- y -/ c : True", ["c"]),
        ("theorem", [None]),
        ("def def c := 1", [None, "c"]),
        ("class inductive C", ["C"]),
        ("theorem «a b».c : True", ["«a b».c"]),
        ("-- namespace A\ntheorem c : True", ["c"]),
        ("def q := `(command| end A)\nnamespace A\ndef c := `(end A)\ndef d := 1", ["q", "A.c", "A.d"]),
    ],
)
def test_full_names(text, names):
    assert declared(text) == names


def test_commands_are_a_sequence():
    commands = LeanSource("open A\n(def b)\nend").commands
    assert [(command.word, command.start, command.depth) for command in commands] == [
        ("open", 0, 0),
        ("def", 8, 1),
        ("end", 15, 0),
    ]
    assert commands[1] == list(commands)[1]
    assert commands.begin_with(commands[0])
    assert not commands.begin_with(commands[1])


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("(", 1),
        (")(", 0),
        (") -- c\n(", 1),
        ('("(")', 0),
        ("(/- ) -/", 1),
        ("«(» (", 1),
        ("(«)»", 1),
        ("}", 0),
        ("⟨[{(" * 30, 120),
    ],
)
def test_bracket_depth(text, depth):
    assert [command.depth for command in LeanSource(f"{text} open").commands] == [depth]


def test_watched_words():
    source = LeanSource("open X -- open\n/- sorry -/ sorry «sorryAx» Lean.«sorryAx» «sorry x» x.sorry")
    assert [word for word, _ in source.words()] == ["open", "sorry"]
    assert [word for word, _ in source.quoted_words()] == ["sorryAx", "Lean.sorryAx"]
    assert list(source.comments) == ["-- open", "/- sorry -/"]
    assert LeanSource("open X").comments is None


def test_composed_and_decomposed_signs_are_equal():
    assert LeanSource("a =\u0338 b").text == "a ≠ b"


def test_thousands_of_combining_marks_take_no_quadratic_time():
    text = "a" + "\u0301\u0323" * 200_000 + " =\u0338 b"
    started = time.process_time()
    assert normalized(text).endswith("≠ b")
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize("unit", ["namespace A\n", "section\n", "namespace A\ndef f\n", "def ", "end\n", "open A\n"])
def test_time_is_linear_in_the_number_of_commands(unit):
    def seconds(count):
        source = LeanSource(unit * count)
        started = time.process_time()
        assert len(source.commands) >= count
        return time.process_time() - started

    small = min(seconds(1_000) for _ in range(3))
    # Sixteen times the text; a quadratic parse would take 256 times as long.
    assert min(seconds(16_000) for _ in range(3)) < 64 * small + 0.2
