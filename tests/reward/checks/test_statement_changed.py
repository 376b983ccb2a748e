"""statement_changed: the answer declares the theorem that was asked. The rules are tested in tests/lean."""


def test_kept_and_changed(measured, answer):
    assert not measured("statement_changed", answer())["violated"]
    changed = measured("statement_changed", answer().replace("q ∧ p :=", "q ∨ p :="))
    assert changed["violated"]
    assert "pair" in changed["detail"]


def test_needs_one_lean_block(profile_scorer):
    report = profile_scorer("kimina").check_format("theorem t : True := by sorry", "<think></think>")
    assert "statement_changed" not in report.measures
