"""Folders of evaluations as stage=eval leaves them, as far as tables read them."""

from kimina.durable import write_json
from kimina.evaluation.problem_counts import COUNTS_FILE, COUNTS_SCHEMA
from kimina.experiment.artifact import Artifact

COUNTS = dict(
    problem_id="p", family="f", level=1, samples=4, n=4, c=1, n_fixed=None, c_fixed=None, fixes=0, n_proof=4, c_proof=1, well_formed=4, truncated=0, wrong=3,
    tokens=40, tokens_solved=10, tokens_wrong=30,
)  # fmt: skip


def finish(folder: str, counts=(COUNTS,)) -> None:
    """An evaluation as stage=eval leaves it, as far as tables read it."""

    def work(artifact: Artifact) -> None:
        write_json(artifact.file(COUNTS_FILE), {"schema": COUNTS_SCHEMA, "problems": list(counts)})
        artifact.update(lean={"version": "4.35.0"}, prompt_set={"problems": len(counts)})

    settings = {"name": "nano", "samples": 4, "max_unverified_share": 0.01}
    Artifact.at(folder).produce(work, {"config": {"evaluation": settings}, "seeds": {"seed": 1}})
