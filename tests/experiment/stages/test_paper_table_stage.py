"""Building a table's rows beside another process."""

from types import SimpleNamespace

import pytest

from kimina.experiment.stages import paper_table
from kimina.tables.paper_table import RowStatus


@pytest.mark.parametrize(("later", "failed"), [(RowStatus.RUNNING, []), (RowStatus.DONE, []), (RowStatus.FAILED, ["a"])])
def test_a_row_that_another_process_took_first_has_not_failed(monkeypatch, later, failed):
    seen = iter([RowStatus.NOT_RUN, RowStatus.NOT_RUN, later])
    monkeypatch.setattr(paper_table, "row_state", lambda row, plan: SimpleNamespace(status=next(seen)))
    monkeypatch.setattr(paper_table, "_run", lambda context, row_id, plan: 2)
    said = []
    context = SimpleNamespace(progress=SimpleNamespace(say=said.append))
    row = SimpleNamespace(id="a", title="A")
    assert paper_table._build(context, SimpleNamespace(rows=[row]), {"a": SimpleNamespace(command="c")}) == failed
    assert ("another process" in said[-1]) == (not failed)
