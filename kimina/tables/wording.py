"""How numbers are written and what is said of them, the same everywhere."""

from collections.abc import Iterable

from kimina.evaluation.comparison import PairedGain, verdict
from kimina.evaluation.intervals import Interval
from kimina.evaluation.result import Rate
from kimina.evaluation.sample_size import ResolvableDifference
from kimina.tables.result_table import FAMILY, Cell, ResultTable, Row

MINUS = "\N{MINUS SIGN}"
EN_DASH = "\N{EN DASH}"
NO_BREAK = "\N{NO-BREAK SPACE}"
UNDEFINED = EN_DASH
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def rate_text(rate: Rate) -> str:
    """Return a rate in percent with one decimal, a dash where it is undefined."""
    return UNDEFINED if rate.value is None else f"{100 * rate.value:.1f}"


def interval_text(interval: Interval | None) -> str:
    """Return an interval of a rate in percent, an empty text where there is none."""
    return "" if interval is None else f"{100 * interval.low:.1f}{EN_DASH}{100 * interval.high:.1f}"


def points(value: float) -> str:
    """Return a difference of rates in percentage points with its sign."""
    text = f"{100 * abs(value):.1f}"
    if text == "0.0":
        return "0.0"
    return f"+{text}" if value > 0 else f"{MINUS}{text}"


def gain_text(gain: PairedGain | None) -> str:
    """Return a gain in points, a dash where it is undefined."""
    return UNDEFINED if gain is None else points(gain.gain)


def gain_interval_text(gain: PairedGain | None) -> str:
    """Return the interval of a gain, in points."""
    if gain is None or gain.interval is None:
        return ""
    return f"{points(gain.interval.low)} to {points(gain.interval.high)}"


def p_text(p: float | None) -> str:
    """Return a p-value for a column of a table."""
    if p is None:
        return UNDEFINED
    if p < 0.001:
        return "<0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def p_phrase(p: float) -> str:
    """Return a p-value for a sentence, very small ones by their power of ten."""
    if p >= 0.001:
        return f"p{NO_BREAK}={NO_BREAK}{p_text(p)}"
    exponent = f"{p:.0e}".partition("e")
    return f"p{NO_BREAK}={NO_BREAK}{exponent[0]}{NO_BREAK}×{NO_BREAK}10{str(int(exponent[2])).translate(_SUPERSCRIPTS)}"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def cell_sentence(cell: Cell) -> str:
    """Say whether pass@k changed, with interval and p."""
    if cell.gain is None or cell.p is None:
        return f"pass@{cell.k} is undefined: no theorem has {cell.k} verified samples in both runs."
    span = f" (95 % interval {gain_interval_text(cell.gain)})" if cell.gain.interval else ""
    change = f"{points(cell.gain.gain)} points{span}, {p_phrase(cell.p)}"
    if cell.verdict == "not distinguishable":
        return f"pass@{cell.k} before and after are not distinguishable: {change}."
    return f"pass@{cell.k} is {cell.verdict} after training: {change}."


def ability_sentence(table: ResultTable) -> str:
    """Say whether training sharpened what was there or brought new ability."""
    ability = table.ability
    gained, lost = len(ability.gained), len(ability.lost)
    counts = (
        f"Of {plural(table.overall.problems, 'theorem')}, {gained} that no sample solved before are solved after, "
        f"and {lost} the other way round ({p_phrase(ability.test.p)}, exact McNemar, {plural(ability.samples, 'sample')} a theorem)."
    )
    sharper = table.overall.cells[0].verdict == "higher"
    change = verdict(gained - lost, ability.test.p)
    if change == "higher":
        return counts + " More theorems come within reach: new ability, not only sharpening."
    if change == "lower":
        return (
            counts
            + " Fewer theorems are within reach than before"
            + (": the model is surer of less." if sharper else ".")
        )
    if sharper:
        return (
            counts
            + " This is sharpening: the model finds more often what it could already find. New ability is not shown."
        )
    return counts + " No change of ability is shown."


def unlearned_sentence(rows: Iterable[Row]) -> str:
    """Name the families or levels whose pass@k for the smallest k is not shown to have risen."""
    rows = list(rows)
    flat = [row for row in rows if row.cells[0].verdict != "higher"]
    if len(rows) < 2:
        return ""
    kind = "families" if rows[0].group == FAMILY else "levels"
    if not flat:
        return f"Every one of the {len(rows)} {kind} improved."
    names = ", ".join(row.name for row in flat)
    return f"No gain is shown for {len(flat)} of {len(rows)} {kind}: {names}."


def unverified_sentence(table: ResultTable) -> str:
    """Say how many samples could not be judged."""
    samples = len(table.before.outcomes) + len(table.after.outcomes)
    if table.unverified == 0:
        return f"All {samples:,} samples were judged."
    return (
        f"{plural(table.unverified, 'sample')} of {samples:,} could not be verified and are left out of every rate; "
        f"a theorem with fewer than k verified samples is left out of pass@k."
    )


def resolvable_sentence(difference: ResolvableDifference) -> str:
    """Say what difference between two models the test set can resolve."""
    found = [
        f"{100 * size:.1f} points {what}"
        for size, what in (
            (difference.unpaired, f"between unpaired runs around {100 * difference.rate:.0f} %"),
            (difference.paired, f"between runs that disagree on {100 * difference.discordance:g} % of the problems, paired"),
        )
        if size is not None
    ]
    start = f"{plural(difference.n, 'problem')} at the 5 % level with {100 * difference.power:.0f} % power"
    return f"{start} can resolve {' and '.join(found)}." if found else f"{start} can resolve no difference here."
