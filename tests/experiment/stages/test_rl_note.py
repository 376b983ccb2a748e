"""What the progress of rl says."""

from kimina.experiment.stages.rl import note_of


def test_a_step_that_nobody_judged_does_not_end_the_run():
    assert note_of(None) == "nobody judged"
    assert note_of(0.25) == "reward 0.250"
