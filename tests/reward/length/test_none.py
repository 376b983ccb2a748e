"""Without length control nothing is added, written or cut."""

from kimina.reward.length import make_length_control


def test_nothing():
    control = make_length_control({"name": "none"})
    assert control.rewards([1, 2, 3], [True, False, True], 5, None) == [0.0, 0.0, 0.0]
    assert not control.active(5)
    assert control.budget(1, 2, 3) is None and control.limit(5) is None
    chat = [{"role": "user", "content": "Prove it."}]
    assert control.instruct(chat, None) == chat
