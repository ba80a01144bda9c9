"""INTERFACE and LOOPBACK_INTERFACE: a routed link on every used port and the switch's own address.

An address row needs the bare row of its port (sonic-interface.yang); on a /31 both addresses are usable (RFC 3021).
"""

from railweave.sonic.render.attachments import Attachment
from railweave.sonic.rows import Row
from railweave.units import ipv4_text

LOOPBACK = "Loopback0"
_LINK_LENGTH = 31


def bare_interface_row(port: str) -> Row:
    """Return the row that makes ``port`` a routed port."""
    return Row("INTERFACE", port, {}, "A fabric port is routed, not bridged: no flooding reaches lossless queues.")


def link_local_row(port: str) -> Row:
    """Return the row that makes ``port`` a routed port without an address of its own (unnumbered)."""
    fields = {"ipv6_use_link_local_only": "enable"}
    return Row("INTERFACE", port, fields, "An unnumbered link: IPv6 link-local next hops carry IPv4 routes (RFC 8950).")


def link_rows(attachment: Attachment, bare: Row) -> tuple[Row, ...]:
    """Return the rows of a link's end; ``bare`` is its port's row without fields."""
    port, address = attachment.port.name, attachment.address
    if address is None:
        return (link_local_row(port),)
    pool = "addressing.hosts" if attachment.is_host else "addressing.links"
    numbered = Row(
        "INTERFACE",
        f"{port}|{ipv4_text(address)}/{_LINK_LENGTH}",
        {},
        f"The /31 of the link to {attachment.neighbor}, counted from {pool} by leaf and leaf port, "
        "the even address at the upper end (RFC 3021).",
    )
    return bare, numbered


def loopback_rows(address: int) -> tuple[Row, Row]:
    """Return Loopback0 and its address."""
    return (
        Row("LOOPBACK_INTERFACE", LOOPBACK, {}, "The interface of the switch's own address, which never goes down."),
        Row(
            "LOOPBACK_INTERFACE",
            f"{LOOPBACK}|{ipv4_text(address)}/32",
            {},
            "The switch's own address and BGP router id, counted from addressing.loopbacks by its number.",
        ),
    )
