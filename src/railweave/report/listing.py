"""Lists of names, short enough to read: ``pod1-leaf1…4, pod1-spine1…4``."""

import re
from collections.abc import Iterable, Sequence

from railweave.names import natural_key

_NUMBERED = re.compile(r"^(.*?)([0-9]+)$")


def compact(names: Iterable[str], most: int = 6) -> str:
    """Return the names with runs of consecutive numbers joined; beyond ``most`` runs the rest is counted."""
    runs = _runs(sorted(dict.fromkeys(names), key=natural_key))
    shown = [_text(run) for run in runs[:most]]
    hidden = sum(len(run) for run in runs[most:])
    return ", ".join(shown) + (f" and {hidden} more" if hidden else "")


def _runs(names: Sequence[str]) -> list[list[str]]:
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return runs


def _follows(run: Sequence[str], name: str) -> bool:
    """Tell whether ``name`` continues the run with the step that it has (any step for a run of one)."""
    last, now = _NUMBERED.match(run[-1]), _NUMBERED.match(name)
    if last is None or now is None or last[1] != now[1]:
        return False
    step = int(now[2]) - int(last[2])
    if len(run) == 1:
        # Ports of SONiC count lanes: Ethernet0, Ethernet8, …
        return step in {1, 2, 4, 8}
    before = _NUMBERED.match(run[-2])
    return before is not None and step == int(last[2]) - int(before[2])


def _text(run: Sequence[str]) -> str:
    if len(run) <= 2:
        return ", ".join(run)
    last = _NUMBERED.match(run[-1])
    # The numbers of ports count lanes; a step that is not a port's own is shown.
    second = f", {_number(run[1])}" if not run[0].startswith("Ethernet") and not _is_next(run[0], run[1]) else ""
    return f"{run[0]}{second}…{last[2] if last else run[-1]}"


def _number(name: str) -> str:
    found = _NUMBERED.match(name)
    return found[2] if found else name


def _is_next(name: str, other: str) -> bool:
    return int(_number(other)) == int(_number(name)) + 1


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return ``1 device`` or ``4 devices``."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {plural or noun + 's'}"
