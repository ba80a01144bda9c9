"""Why devices could not be read: one sentence for all devices that share a reason."""

import re
from collections.abc import Mapping

from railweave.wording import compact

# The management address and port that a driver's message begins with: `192.0.2.11:22: `, `[2001:db8::1]:22: `.
_ADDRESS = re.compile(r"^\S+:\d+: ")
_MOST_RUNS = 8


def by_reason(reasons: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the devices of each reason, in the order of their first device.

    Reasons that differ only in the device's management address in front, or in its name in `railweave trust NAME`,
    are one reason without these. Without a name that command records the host keys of all devices.
    """
    names_by_shared_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        shared_reason = _ADDRESS.sub("", reason)
        # `--replace` has to name the device: it discards a key.
        shared_reason = re.sub(rf"(?<=\btrust) {re.escape(name)}(?! --replace)\b", "", shared_reason)
        names_by_shared_reason.setdefault(shared_reason, []).append(name)
    grouped: dict[str, tuple[str, ...]] = {}
    for shared_reason, names in names_by_shared_reason.items():
        shown_reason = shared_reason
        if len(names) == 1:
            shown_reason = reasons[names[0]]
        # The full reason of one device may be what others share.
        grouped[shown_reason] = (*grouped.get(shown_reason, ()), *names)
    return grouped


def reason_lines(reasons: Mapping[str, str], what: str = "switches") -> list[str]:
    """Return a line for each reason: ``pod1-leaf1: REASON``, or ``12 switches (pod1-leaf1…12): REASON``."""
    lines = []
    for reason, names in by_reason(reasons).items():
        subject = names[0] if len(names) == 1 else f"{len(names)} {what} ({compact(names, _MOST_RUNS)})"
        lines.append(f"{subject}: {reason}")
    return lines
