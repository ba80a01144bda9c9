"""MTU, BGP timers and the PFC watchdog (fabric-facts sections 4.8 and 5, RFC 4271 section 4.4)."""

from collections.abc import Iterator

from railweave.diagnostics import Diagnostic, error, warning
from railweave.intent.model import Intent

_ROCE_MTUS = (4096, 2048, 1024, 512, 256)
_ROCE_HEADERS_BYTES = 96
"""What Linux keeps free in a packet for IP, UDP and the RoCE headers (``iboe_get_mtu``)."""


def roce_mtu_bytes(mtu_bytes: int) -> int:
    """Return the largest RoCE packet that an IP MTU carries, 0 where none does."""
    return next((size for size in _ROCE_MTUS if size + _ROCE_HEADERS_BYTES <= mtu_bytes), 0)


def transport_findings(intent: Intent) -> Iterator[Diagnostic]:
    """Yield what is wrong with MTUs, timers and the watchdog."""
    yield from _mtu(intent)
    yield from _timers(intent)
    yield from _watchdog(intent)


def _mtu(intent: Intent) -> Iterator[Diagnostic]:
    mtu = intent.policies.mtu
    if mtu.hosts_bytes > mtu.fabric_bytes:
        path = "mtu.hosts" if "mtu.hosts" in intent.places else "mtu.fabric"
        yield error(
            "M-1",
            f"the hosts send packets of {mtu.hosts_bytes} bytes, the fabric carries {mtu.fabric_bytes}",
            intent.where(path),
            fix=f"lower mtu.hosts to {mtu.fabric_bytes} or raise mtu.fabric to {mtu.hosts_bytes}",
        )
    roce = roce_mtu_bytes(mtu.hosts_bytes)
    if roce < _ROCE_MTUS[0]:
        needed = _ROCE_MTUS[0] + _ROCE_HEADERS_BYTES
        carried = f"RoCE falls to packets of {roce} bytes" if roce else "RoCE has no packet size that fits"
        yield warning(
            "M-4",
            f"with a host MTU of {mtu.hosts_bytes}, {carried}; {_ROCE_MTUS[0]} needs {needed}",
            intent.where("mtu.hosts"),
            fix="set mtu.hosts to 9000",
        )


def _timers(intent: Intent) -> Iterator[Diagnostic]:
    bgp = intent.policies.bgp
    if bgp.hold_s < 3 * bgp.keepalive_s:
        path = "bgp.hold" if "bgp.hold" in intent.places else "bgp.keepalive"
        yield error(
            "B-10",
            f"a hold time of {bgp.hold_s} s is under three keepalives of {bgp.keepalive_s} s: one lost packet can end a"
            " session",
            intent.where(path),
            fix=f"set bgp.hold to {3 * bgp.keepalive_s} or more, or lower bgp.keepalive",
        )


def _watchdog(intent: Intent) -> Iterator[Diagnostic]:
    """W-1 and W-2: storms are noticed, and by times that SONiC takes."""
    watchdog = intent.policies.watchdog
    if not watchdog.enabled and any(one.lossless for one in intent.policies.classes):
        yield warning(
            "W-1",
            "the PFC watchdog is off: one NIC that pauses for ever stops every flow behind it",
            intent.where("pfc_watchdog.enabled"),
            fix="leave out pfc_watchdog.enabled",
        )
    for name, time_ms in (("detection_ms", watchdog.detection_ms), ("restoration_ms", watchdog.restoration_ms)):
        if watchdog.poll_ms is not None and time_ms is not None and time_ms < watchdog.poll_ms:
            yield error(
                "W-2",
                f"the watchdog polls every {watchdog.poll_ms} ms and cannot tell {time_ms} ms ({name})",
                intent.where(f"pfc_watchdog.{name}"),
                fix=f"raise {name} to {watchdog.poll_ms} or more, or lower poll_ms",
            )
