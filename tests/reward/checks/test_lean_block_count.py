"""lean_block_count: no second answer."""


def test_one_answer(measured, answer):
    assert not measured("lean_block_count", answer())["violated"]
    assert measured("lean_block_count", answer(after="\n```lean4\nx\n```"))["violated"]
    assert not measured("lean_block_count", answer(thought="```lean4\nx\n```"))["violated"]
    assert measured("lean_block_count", "") is None


def test_with_the_check_off_the_last_block_is_judged(profile_scorer, answer):
    report = profile_scorer("proof_only").check_format(
        "theorem t : True := by sorry", answer(after="\n```lean4\ntheorem u : True := trivial\n```")
    )
    assert report.lean_code == "theorem u : True := trivial"
    assert report.violations == ("statement_changed",)
