"""The results of evaluations that are finished, as tables, cards and pages read them."""

from kimina.errors import InfrastructureError
from kimina.evaluation.problem_counts import ProblemCounts, read_counts, write_counts
from kimina.evaluation.result import EvalResult
from kimina.experiment.artifact import Artifact


def read_finished(label: str, artifact: Artifact, *, texts: bool = True) -> EvalResult:
    """Return the result of an evaluation that is finished; ``label`` and ``texts`` as for ``EvalResult.read``.

    Raises:
        InfrastructureError: its records are damaged, or some were lost since it ended.
    """
    return EvalResult.read(label, artifact.folder, texts=texts, expected=artifact.manifest().get("result"))


def counts_of(artifact: Artifact, expected: int) -> tuple[ProblemCounts, ...]:
    """Return the counts of a finished evaluation of ``expected`` problems.

    They follow from its records, so a file of counts that is missing, damaged or of another version is made again from them.

    Raises:
        InfrastructureError: the records are missing or damaged, too.
    """
    try:
        counts = read_counts(artifact.folder)
        if len(counts) == expected:
            return counts
    except InfrastructureError:
        pass
    write_counts(artifact.folder, read_finished(artifact.name, artifact, texts=False).problems)
    return read_counts(artifact.folder)
