"""no_think_block: an opening tag, the model's or the prompt's."""


def test_an_opening_tag_is_needed(measured, answer):
    assert not measured("no_think_block", answer())["violated"]
    assert measured("no_think_block", answer().replace("<think>", ""))["violated"]
    assert measured("no_think_block", "")["violated"]


def test_the_prompt_may_open_it(measured, answer):
    assert not measured("no_think_block", answer().replace("<think>", ""), opens_think=True)["violated"]
