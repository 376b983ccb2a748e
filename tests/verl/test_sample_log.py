"""The responses kept for reading."""

from kimina.verl.sample_log import SampleLog


def test_repeated_step_replaces_its_file_and_rewind_drops_later_ones(tmp_path):
    log = SampleLog(tmp_path)
    for step in (1, 2, 12):
        log.write(step, [{"response": f"old {step}"}])
    log.write(2, [{"response": "new"}])
    log.rewind(2)
    assert log.read(2) == [{"response": "new"}]
    assert log.read(12) == []


def test_best_and_worst_are_chosen_once_each():
    scores = {"a": 0.0, "b": 1.0, "c": 0.5, "d": 1.0, "e": 0.0}
    assert SampleLog.choose(scores) == ["b", "d", "a", "e"]
    assert SampleLog.choose({"a": 1.0}) == ["a"]
