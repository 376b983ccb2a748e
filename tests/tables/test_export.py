import csv
import io

from kimina.tables.export import escape_latex, escape_markdown, to_csv, to_latex, to_markdown


def test_csv_holds_every_number_unrounded(table):
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert len(rows) == 3 * (1 + 4 + 2)
    first = rows[0]
    assert (first["group"], first["k"], first["problems"]) == ("overall", "1", "40")
    cell = table.overall.cells[0]
    assert float(first["before"]) == cell.before.value
    assert float(first["gain_low"]) == cell.gain.interval.low
    assert float(first["p_adjusted"]) == cell.p
    assert rows[2]["before"] == ""
    assert rows[2]["verdict"] == "undefined"


def test_markdown_has_a_line_for_each_row_and_k(table):
    lines = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 3 * 7
    assert {line.count("|") for line in lines} == {8}
    assert "&lt;b>iff&lt;/b>" in to_markdown(table)


def test_latex_is_balanced_and_escaped(table):
    text = to_latex(table)
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.replace(r"\&", "").count("&") for line in body} == {6}
    assert "$<$b$>$iff" in text
    assert escape_latex(r"50% & a_b\c") == r"50\% \& a\_b\textbackslash{}c"


def test_line_breaks_and_references_stay_in_their_cell():
    assert escape_latex("a\n\nb\\end") == r"a  b\textbackslash{}end"
    assert escape_markdown("a\r\n| <b> &lt; A & B") == r"a \| &lt;b> &amp;lt; A & B"
