"""The result of a job beside its user's number: ``job.json`` in the directory of a plan, written by whoever ran it."""

from pathlib import Path
from typing import Any, NamedTuple

import orjson

from railweave.diagnostics import Diagnostic, Where, error

JOB_FILE = "job.json"
"""The name of the file within the directory of a plan and its results."""


class JobResult(NamedTuple):
    """What a job reached, such as a GPU utilisation in % or the seconds of a step, and what its user expects."""

    name: str
    metric: str
    unit: str
    value: float
    limit: float
    higher_is_better: bool

    @property
    def failed(self) -> bool:
        """Tell whether the value is beyond the user's number."""
        if self.higher_is_better:
            return self.value < self.limit
        return self.value > self.limit


def read_job(root: Path) -> tuple[JobResult | None, tuple[Diagnostic, ...]]:
    """Return the job in ``root`` (None if there is none), and diagnostics of its file."""
    path = root / JOB_FILE
    try:
        job = _job_of(orjson.loads(path.read_bytes()))
    except FileNotFoundError:
        return None, ()
    except (OSError, ValueError, KeyError, TypeError):
        message = f"{JOB_FILE} has no result: expected `name`, `metric`, `unit`, `value`, `limit`, `better`"
        fix = "write it as docs/reference/acceptance-results.md shows, `better` being higher or lower"
        return None, (error("RW929", message, Where(str(path)), fix=fix),)
    return job, ()


def _job_of(document: Any) -> JobResult:
    """Return the job in a document; raises KeyError, TypeError or ValueError if it has none."""
    texts = {name: document[name] for name in ("name", "metric", "unit", "better")}
    numbers = {name: document[name] for name in ("value", "limit")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise TypeError("expected texts")
    # A bool is an int, but not a measurement.
    if not all(type(number) in (int, float) for number in numbers.values()):
        raise TypeError("expected numbers")
    if texts["better"] not in ("higher", "lower"):
        raise ValueError("expected higher or lower")
    return JobResult(
        name=texts["name"],
        metric=texts["metric"],
        unit=texts["unit"],
        value=float(numbers["value"]),
        limit=float(numbers["limit"]),
        higher_is_better=texts["better"] == "higher",
    )
