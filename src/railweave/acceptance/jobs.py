"""The result of a job beside its user's number: ``job.json`` in the directory of a plan, written by whoever ran it."""

from pathlib import Path
from typing import NamedTuple

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
    """Return the job in ``root``, None without one, and what is wrong with its file."""
    path = root / JOB_FILE
    try:
        document = orjson.loads(path.read_bytes())
        texts = [document[name] for name in ("name", "metric", "unit", "better")]
        numbers = [document[name] for name in ("value", "limit")]
    except FileNotFoundError:
        return None, ()
    except (OSError, ValueError, KeyError, TypeError):
        texts = []
        numbers = []
    is_sound = all(isinstance(text, str) for text in texts) and texts[-1:] in (["higher"], ["lower"])
    if not is_sound or not all(type(number) in (int, float) for number in numbers):
        message = f"{JOB_FILE} has no result: expected `name`, `metric`, `unit`, `value`, `limit`, `better`"
        fix = "write it as docs/reference/acceptance-results.md shows, `better` being higher or lower"
        return None, (error("RW929", message, Where(str(path)), fix=fix),)
    name, metric, unit, better = texts
    return JobResult(name, metric, unit, float(numbers[0]), float(numbers[1]), better == "higher"), ()
