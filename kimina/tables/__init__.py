"""Results for readers: the table of a comparison, its figures, and the report page."""

from kimina.tables.report import ReportPaths, write_report
from kimina.tables.result_table import ResultTable, compare
from kimina.tables.run_facts import RunFacts
from kimina.tables.terminal import print_table

__all__ = ["ReportPaths", "ResultTable", "RunFacts", "compare", "print_table", "write_report"]
