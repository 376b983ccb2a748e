import json

import pytest

from kimina.errors import UserError
from kimina.tables.seeds import across_seeds, main


def _result(gain, p=0.001, problems=244):
    return {"schema": 1, "problems": problems, "ks": [1], "rows": [{"pass_at_k": {"1": {"gain": gain, "p": p}}}]}


def test_mean_gain_over_three_seeds_with_students_t():
    summary = across_seeds([_result(0.129), _result(0.166), _result(0.157)])
    assert summary.mean == pytest.approx(0.15067, abs=1e-5)
    # t(0.975, 2) = 4.3027, standard deviation 1.930 points: 15.07 ± 4.79.
    assert summary.interval.low == pytest.approx(0.1027, abs=1e-4)
    assert summary.interval.high == pytest.approx(0.1986, abs=1e-4)
    assert summary.lines()[-1] == "mean of 3: +15.1 points, 95 % interval +10.3 to +19.9"


def test_one_seed_has_no_interval():
    assert across_seeds([_result(0.1)]).interval is None


def test_results_that_do_not_belong_together_are_refused():
    with pytest.raises(UserError, match="no results"):
        across_seeds([])
    with pytest.raises(UserError, match="243 problems"):
        across_seeds([_result(0.1), _result(0.1, problems=243)])
    with pytest.raises(UserError, match="schema"):
        across_seeds([{**_result(0.1), "schema": 0}])
    with pytest.raises(UserError, match="no pass@8"):
        across_seeds([_result(0.1)], k=8)


def test_the_command_prints_the_summary(tmp_path, capsys):
    paths = []
    for seed, gain in enumerate((0.1, 0.2)):
        paths.append(tmp_path / f"{seed}.json")
        paths[-1].write_text(json.dumps(_result(gain)))
    assert main([str(path) for path in paths]) == 0
    assert "mean of 2: +15.0 points" in capsys.readouterr().out
    assert main([str(tmp_path / "none.json")]) == 3
    assert "cannot read" in capsys.readouterr().err
