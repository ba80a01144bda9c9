"""A-10: a job reaches the number of its user, such as a GPU utilisation or the seconds of a step (``job.json``)."""

from collections.abc import Iterator

from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Culprit, Symptom, setting_element
from railweave.acceptance.judge.registry import judge_rule
from railweave.diagnostics import Severity

JOB_RULE = "A-10"
_FIX = "mend the other findings first; then profile its steps (data loading, stragglers, exposed communication)"


@judge_rule(JOB_RULE, "A job reaches the number of its user")
def job(case: Case) -> Iterator[Symptom]:
    """Yield a symptom if the job is beyond the number of its user."""
    result = case.job
    if result is None or not result.failed:
        return
    bound = "at least" if result.higher_is_better else "at most"
    message = f"{result.metric} {result.value:,.4g} {result.unit}, {bound} {result.limit:,.4g} expected"
    culprit = Culprit((setting_element(f"job {result.name}"),), "misses its number", _FIX, slows=frozenset())
    yield Symptom(JOB_RULE, Severity.ERROR, message, _FIX, culprit)
