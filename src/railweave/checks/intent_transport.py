"""MTU and BGP timers (fabric-facts section 5, RFC 4271 section 4.4)."""

from collections.abc import Iterator

from railweave.diagnostics import Diagnostic, error, warning
from railweave.intent.model import Intent

_ROCE_MTUS = (4096, 2048, 1024, 512, 256)
_ROCE_HEADERS_BYTES = 96
"""What Linux keeps free in a packet for IP, UDP and the RoCE headers (``iboe_get_mtu``)."""


def transport_findings(intent: Intent) -> Iterator[Diagnostic]:
    """Yield what is wrong with MTUs and timers."""
    yield from _mtu(intent)
    yield from _timers(intent)


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
    roce = next((size for size in _ROCE_MTUS if size + _ROCE_HEADERS_BYTES <= mtu.hosts_bytes), 0)
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
