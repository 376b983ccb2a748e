import math

import pytest
import scipy.stats
from statsmodels.stats.power import NormalIndPower

from kimina.evaluation import mcnemar, resolvable_difference
from kimina.tables.wording import resolvable_sentence


def test_the_published_test_set_resolves_what_the_facts_say():
    # facts/papers.md, section G: unpaired 10.8 points, paired 5.7 at 10 % discordance, 4.0 at 5 %.
    wide, narrow = resolvable_difference(244, 0.76, 0.10), resolvable_difference(244, 0.76, 0.05)
    assert [round(100 * size, 1) for size in (wide.unpaired, wide.paired, narrow.paired)] == [10.8, 5.7, 4.0]


@pytest.mark.parametrize("n", [50, 244, 5000])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_differences_agree_with_statsmodels(n, power):
    found = resolvable_difference(n, 0.7, 0.3, power)
    unpaired = NormalIndPower(ddof=0).solve_power(nobs1=n, alpha=0.05, power=power, alternative="two-sided")
    paired = NormalIndPower(ddof=0).solve_power(nobs1=n, alpha=0.05, power=power, ratio=0, alternative="two-sided")
    # statsmodels counts the tail on the wrong side, too; at a power of one half that is 0.00005.
    assert found.unpaired == pytest.approx(unpaired * math.sqrt(0.7 * 0.3), rel=1e-4)
    assert found.paired == pytest.approx(paired * math.sqrt(0.3), rel=1e-4)


@pytest.mark.parametrize("discordance", [0.05, 0.1, 0.2])
def test_the_exact_mcnemar_test_has_nearly_this_power(discordance):
    found = resolvable_difference(244, 0.76, discordance)
    share = (discordance + found.paired) / (2 * discordance)
    power = sum(
        chance * sum(scipy.stats.binom.pmf(up, m, share) for up in range(m + 1) if mcnemar(m - up, up).p < 0.05)
        for m in range(120)
        if (chance := scipy.stats.binom.pmf(m, 244, discordance)) > 1e-9
    )
    assert 0.76 < power < 0.80


def test_an_impossible_difference_is_undefined_not_zero():
    assert resolvable_difference(244, 0.0, 0.1).unpaired is None
    assert resolvable_difference(244, 0.76, 0.0).paired is None
    # Runs that disagree on 2 % of 244 problems can't differ by the 2.5 points that would be found.
    assert resolvable_difference(244, 0.76, 0.02).paired is None
    assert resolvable_difference(3, 0.5, 0.5) == resolvable_difference(3, 0.5, 0.5, 0.8)
    assert resolvable_difference(3, 0.5, 0.5).unpaired is None


@pytest.mark.parametrize(
    "arguments", [(0, 0.5, 0.1), (244, 1.5, 0.1), (244, 0.5, -0.1), (244, 0.5, 0.1, 1.0), (244, math.nan, 0.1)]
)
def test_impossible_sets_are_refused(arguments):
    with pytest.raises(ValueError):
        resolvable_difference(*arguments)


def test_the_note_for_a_table():
    assert resolvable_sentence(resolvable_difference(244, 0.76, 0.1)) == (
        "244 problems at the 5 % level with 80 % power can resolve 10.8 points between unpaired runs around 76 % and "
        "5.7 points between runs that disagree on 10 % of the problems, paired."
    )
    assert resolvable_sentence(resolvable_difference(3, 1.0, 0.0)).endswith("can resolve no difference here.")
