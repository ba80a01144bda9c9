"""A link with both of its ends, and what is found on it: told once a device and kind, with the number of links."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from railweave.checks.ends import End
from railweave.diagnostics import Diagnostic, Severity, Where


@dataclass(frozen=True, slots=True)
class Pair:
    """A link: the end nearer to the GPUs, and the other; speed in Gb/s, length in metres and medium are as designed."""

    lower: End
    upper: End
    speed_gbps: int
    length_m: int
    media: str

    @property
    def switches(self) -> tuple[End, ...]:
        """Return the ends that are switches."""
        return tuple(end for end in (self.lower, self.upper) if not end.is_host)

    def far(self, end: End) -> End:
        """Return the other end."""
        return self.upper if end is self.lower else self.lower


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not fit on one link. Findings of one ``code``, ``device`` and ``what`` are reported once."""

    code: str
    severity: Severity
    device: str
    what: str
    message: str
    fix: str
    devices: tuple[str, ...]


def together(findings: Iterator[Finding], place: Callable[[str], Where]) -> tuple[Diagnostic, ...]:
    """Return findings as diagnostics, those of one kind and device as one that counts its links."""
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for one in findings:
        kinds.setdefault((one.code, one.device, one.what), []).append(one)
    told = []
    for alike in kinds.values():
        first = alike[0]
        more = f" (and on {len(alike) - 1} more links)" if len(alike) > 1 else ""
        devices = tuple(dict.fromkeys(name for one in alike for name in one.devices))
        told.append(
            Diagnostic(first.code, first.severity, first.message + more, place(first.device), devices, first.fix)
        )
    return tuple(told)


def found(code: str, end: End, far: End, what: str, message: str, fix: str) -> Finding:
    """Return an error at ``end`` of the link to ``far``; findings of one ``what`` are reported once per device."""
    return Finding(code, Severity.ERROR, end.device, what, message, fix, (end.device, far.device))
