"""``config mirror_session`` and ``config watermark``."""

import ipaddress
from collections.abc import Iterable
from typing import Any

import click

from sonic_sim.commands.click7 import Range, Run, argument, option
from sonic_sim.commands.config.names import is_interface, port_channel_of, vlans_of
from sonic_sim.commands.config.root import config


def _ipv4(context: click.Context, param: click.Parameter, value: str) -> str:
    """Return an IPv4 address or prefix; any other text is a usage error."""
    try:
        if ipaddress.ip_network(value, strict=False).version != 4:
            raise click.UsageError(f"{value} is not a valid IPv4 address")
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return value


def _gre(context: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Return the GRE type that a decimal or hexadecimal text states; any other text is a usage error."""
    if value is None:
        return None
    try:
        number = int(value, 16 if value.lower().startswith("0x") else 10)
    except ValueError:
        number = -1
    # The protocol type of GRE has 16 bits (RFC 2784).
    if not 0 <= number <= 65535:
        raise click.UsageError(f"{value} is not a valid GRE type")
    return number


_name = argument("session_name", metavar="<session_name>")
_erspan = (
    _name, argument("src_ip", metavar="<src_ip>", callback=_ipv4),
    argument("dst_ip", metavar="<dst_ip>", callback=_ipv4),
    argument("dscp", metavar="<dscp>", type=Range(0, 63)), argument("ttl", metavar="<ttl>", type=Range(0, 255)),
    argument("gre_type", metavar="[gre_type]", callback=_gre, required=False),
    argument("queue", metavar="[queue]", type=Range(0, 255), required=False),
)  # fmt: skip
_source = (argument("src_port", metavar="[src_port]", required=False),
           argument("direction", metavar="[direction]", required=False))  # fmt: skip
mirror = config.branch("mirror_session", "")
erspan = mirror.branch("erspan", "ERSPAN mirror_session")
span = mirror.branch("span", "SPAN mirror session")


def _check_sources(run: Run, sources: Iterable[str], destination: str | None) -> None:
    """Refuse sources that are not interfaces, and the destination as one of them."""
    for name in sources:
        if not is_interface(run, name):
            run.fail(f"Error: Source Interface {name} is invalid")
        if name == destination:
            run.fail("Error: Destination Interface cant be same as Source Interface")


def _add_session(run: Run, session_name: str, kind: str, **values: Any) -> None:
    """Write a mirror session of a kind, ``SPAN`` or ``ERSPAN``. Its fields are the values that are not None."""
    port = values.get("dst_port")
    sources = [name for name in (values.get("src_port") or "").split(",") if name]
    direction = values.get("direction")
    if run.db.get(f"MIRROR_SESSION|{session_name}"):
        run.stop(f"Error: {session_name} already exists", 0)
    if port:
        _check_destination(run, port)
    _check_sources(run, sources, port)
    _check_other_sessions(run, port, sources, direction)
    if direction and direction not in ("rx", "tx", "both"):
        run.fail(f"Error: Direction {direction} is invalid")
    # Without a source an access list decides what is mirrored, and there is no direction.
    values["direction"] = None
    if sources:
        values["direction"] = (direction or "both").upper()
    row = {name: str(value) for name, value in values.items() if value is not None}
    run.db.put(f"MIRROR_SESSION|{session_name}", {"type": kind, **row})


def _check_destination(run: Run, port: str) -> None:
    """Refuse a port that has another use."""
    db = run.db
    start = f"Error: Destination Interface {port}"
    if not is_interface(run, port):
        run.fail(f"{start} is invalid")
    if f"PORTCHANNEL|{port}" in db.rows:
        run.fail(f"{start} is not supported")
    if vlans_of(db, port):
        run.fail(f"{start} has vlan config")
    if port_channel_of(db, port):
        run.fail(f"{start} has portchannel config")
    if f"INTERFACE|{port}" in db.rows:
        run.fail(f"{start} is a L3 interface")


def _check_other_sessions(run: Run, port: str | None, sources: list[str], direction: str | None) -> None:
    """Refuse ports that another session has."""
    for row in run.db.table("MIRROR_SESSION").values():
        used_sources = row.get("src_port", "").split(",")
        used_direction = row.get("direction", "").lower()
        # Two sessions share a source only where one mirrors what it receives, the other what it sends.
        is_same_direction = direction in (None, "both") or used_direction in (direction, "both")
        if port and port in (row.get("dst_port"), *used_sources):
            run.fail(f"Error: Destination Interface {port} already has mirror config")
        for name in sources:
            if row.get("dst_port") == name:
                run.fail(f"Error: Source Interface {name} already has mirror config")
            if name in used_sources and is_same_direction:
                run.fail(f"Error: Source Interface {name} already has mirror config in same direction")


@mirror.leaf("add", "Add ERSPAN mirror session.(Legacy support)", *_erspan, option("--policer"))
def mirror_add(run: Run, **values: Any) -> None:
    _add_session(run, kind="ERSPAN", **values)


@erspan.leaf("add", "Add ERSPAN mirror session", *_erspan, *_source, option("--policer"))
def erspan_add(run: Run, **values: Any) -> None:
    _add_session(run, kind="ERSPAN", **values)


@span.leaf(
    "add", "Add SPAN mirror session", _name, argument("dst_port", metavar="<dst_port>"), *_source,
    argument("queue", metavar="[queue]", type=Range(0, 255), required=False), option("--policer"),
)  # fmt: skip
def span_add(run: Run, **values: Any) -> None:
    _add_session(run, kind="SPAN", **values)


@mirror.leaf("remove", "Delete mirror session", _name)
def mirror_remove(run: Run, session_name: str) -> None:
    run.db.delete(f"MIRROR_SESSION|{session_name}")


telemetry = config.branch("watermark", "Configure watermark").branch("telemetry", "Configure watermark telemetry")


@telemetry.leaf("interval", "Configure watermark telemetry interval", argument("interval"))
def watermark_interval(run: Run, interval: str) -> None:
    try:
        seconds = int(interval)
    except ValueError:
        run.complain("usage: watermarkcfg [-h] [-s] [-c CONFIG_INTERVAL] [-v]")
        run.leave(f"watermarkcfg: error: argument -c/--config-interval: invalid int value: {interval!r}", 2)
    if seconds:  # watermarkcfg takes 0 for an option that is not given
        run.db.put("WATERMARK_TABLE|TELEMETRY_INTERVAL", {"interval": str(seconds)})
