"""What the seeded rollouts were and how they ended, counted for the end of a test run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

PROPERTY = "rollout"
"""The property of a test's report that holds one rollout; it travels from the workers to the run's own process."""


def told_rollouts(reports: Iterable[Any]) -> list[Mapping[str, Any]]:
    """Return the rollouts of the reports of tests."""
    return [value for report in reports for name, value in report.user_properties if name == PROPERTY]


def counted(rollouts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the counts as lines."""
    longest = max(rollouts, key=lambda one: one["seconds"])
    lines = [
        f"{len(rollouts)} rollouts, seeds {min(one['seed'] for one in rollouts)} to "
        f"{max(one['seed'] for one in rollouts)}; longest {longest['seconds']:.1f} s (seed {longest['seed']}); "
        f"at most {max(one['most_out'] for one in rollouts)} disturbed switches at once"
    ]
    for title, name in (("fabrics", "shape"), ("faults", "fault_kind"), ("ended", "ended"), ("then", "way")):
        lines.append(f"{title}: {_counts(one[name] for one in rollouts)}")
    lines.append(f"changes: {_counts(change for one in rollouts for change in one['changes'])}")
    lines.append(f"devices: {_counts(end for one in rollouts for end in one['outcomes'])}")
    return lines


def _counts(values: Iterable[str]) -> str:
    return ", ".join(f"{value} {count}" for value, count in Counter(values).most_common())
