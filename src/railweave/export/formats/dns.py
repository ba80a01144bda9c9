"""A DNS zone: loopbacks of switches and the addresses of nodes' interfaces, as ``rail0.gpu1``.

The serial number is an option and not the time, so that the same intent gives the same bytes.
"""

from collections.abc import Iterator

from railweave.diagnostics import Diagnostic, error
from railweave.export.model import ExportFormat, ExportSource, demand, header
from railweave.export.names import DNS_LABEL, SUBDOMAIN, name_faults
from railweave.units import ipv4_text, ipv6_text

_ABOUT = "DNS zone of switches' loopbacks and nodes' interfaces"
_TTL_S = 3600
# Refresh, retry, expire and negative caching in seconds, as RFC 1912 section 2.2 advises.
_TIMERS_S = "7200 900 1209600 300"
_MOST_SERIAL = (1 << 32) - 1


def _write(source: ExportSource) -> str:
    """Return the zone file; raises RefusedError for names and a serial number that DNS refuses."""
    zone = source.options.zone or f"{source.name}.internal"
    demand([*_faults(source, zone), *_refused_names(source)])
    lines = [
        f"$ORIGIN {zone}.",
        f"$TTL {_TTL_S}",
        f"@ IN SOA localhost. hostmaster {source.options.serial} {_TIMERS_S}",
        "@ IN NS localhost.",
        *_records(source),
    ]
    # Comments of a zone begin with a semicolon (RFC 1035 section 5.1).
    about = header(source, _ABOUT).replace("# ", "; ")
    return about + "\n".join(lines) + "\n"


def _faults(source: ExportSource, zone: str) -> Iterator[Diagnostic]:
    yield from name_faults([zone], SUBDOMAIN._replace(consumer="DNS"), "zone", source.top, "give another --zone")
    if not 0 <= source.options.serial <= _MOST_SERIAL:
        message = f"serial {source.options.serial}: DNS has numbers of 32 bits"
        yield error("RW950", message, fix=f"give a --serial up to {_MOST_SERIAL}")


def _refused_names(source: ExportSource) -> Iterator[Diagnostic]:
    names = [switch.name for fabric in source.fabrics for switch in fabric.switches]
    names += [host.name for fabric in source.fabrics for host in fabric.hosts]
    yield from name_faults(names, DNS_LABEL, "host", source.top, "shorten the name in the intent")


def _records(source: ExportSource) -> Iterator[str]:
    """Yield the record of each switch, then those of the interfaces of each node."""
    for fabric in source.fabrics:
        for switch in fabric.switches:
            yield f"{switch.name} IN A {ipv4_text(switch.loopback)}"
    for fabric in source.fabrics:
        for host in fabric.hosts:
            for rail in source.settings(fabric, host).rails:
                if rail.ipv4 is not None:
                    yield f"{rail.name}.{host.name} IN A {ipv4_text(rail.ipv4.address)}"
                if rail.ipv6 is not None:
                    yield f"{rail.name}.{host.name} IN AAAA {ipv6_text(rail.ipv6.address)}"


FORMAT = ExportFormat("dns-zone", "DNS: a zone of switches and nodes", "zone.db", _write)
