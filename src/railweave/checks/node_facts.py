"""What the facts of one GPU node show to be otherwise than the intent, its leaves named as the other end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from railweave.catalog.load import Catalog
from railweave.checks.intent_transport import roce_mtu_bytes
from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.model import Fabric, Host
from railweave.hosts.marking import marking
from railweave.hosts.values import LINK_PREFIX_LENGTH, Rail, kernel_settings, node_of
from railweave.units import format_speed, ipv4_text


@dataclass(frozen=True, slots=True)
class NodeRead:
    """A node and what was read of it."""

    fabric: Fabric
    host: Host
    document: Mapping[str, Any]
    where: Where

    def nic(self, name: str) -> Mapping[str, Any]:
        """Return what was read of an interface."""
        found: Mapping[str, Any] = self.document.get("nics", {}).get(name, {})
        return found


def node_findings(read: NodeRead, catalog: Catalog) -> Iterator[Diagnostic]:
    """Yield what a node itself shows: marking, pauses, PCIe slot, routing, sysctls and NCCL's traffic class."""
    leaf_of = {link.lower_port: link.upper for link in read.fabric.links_of[read.host.name]}
    wanted = marking(read.fabric.policies.classes)
    for index, port in enumerate(read.host.ports):
        nic, end, far = read.nic(port.name), f"{read.host.name}:{port.name}", leaf_of.get(index, "")
        devices = (read.host.name, far) if far else (read.host.name,)
        if wanted is not None:
            told = _marking_findings(nic, end, far, (wanted.tos, wanted.cnp_dscp))
            yield from (error("Q-2", message, read.where, fix=fix, devices=devices) for message, fix in told)
        yield from _pauses(nic, end, _Told(read.where, devices))
        yield from _packet_size(read, nic.get("mtu"), end, devices)
        yield from _slot(read.host, port.nic, nic, end, catalog, _Told(read.where, devices))
    rails = node_of(read.fabric, read.host).rails
    for rail in rails:
        yield from _routing(read, rail)
    yield from _kernel(read, rails)
    yield from _nccl(read, sorted(set(leaf_of.values())))


@dataclass(frozen=True, slots=True)
class _Told:
    where: Where
    devices: tuple[str, ...]


def _marking_findings(
    nic: Mapping[str, Any], end: str, far: str, wanted: tuple[int, int | None]
) -> Iterator[tuple[str, str]]:
    tos, cnp = wanted
    if nic.get("trust", "dscp") != "dscp":
        yield f"{end} trusts {nic['trust']} and {far} DSCP: they sort packets differently", f"let {end} trust DSCP"
    if nic.get("roce_tos", tos) != tos:
        yield (
            f"{end} sends RDMA with ToS {nic['roce_tos']} and {far} expects {tos}",
            f"set the RoCE traffic class of {end} to {tos}",
        )
    if cnp is not None and nic.get("cnp_dscp", cnp) != cnp:
        yield (
            f"{end} sends congestion notifications with DSCP {nic['cnp_dscp']} and {far} expects {cnp}",
            f"set the CNP DSCP of {end} to {cnp}",
        )


def _slot(
    host: Host, nic: int, facts: Mapping[str, Any], end: str, catalog: Catalog, told: _Told
) -> Iterator[Diagnostic]:
    """P-1: the slot as the NIC has trained carries its ports."""
    slot = catalog.find_pcie_slot(str(facts.get("pcie", "")))
    needed = sum(port.speed_gbps for port in host.ports if port.nic == nic)
    if slot is not None and slot.raw_gbps < needed:
        yield error(
            "P-1",
            f"{end} has trained as {slot.id} with {slot.raw_gbps:.0f} Gb/s, its ports and {told.devices[-1]} run"
            f" {format_speed(needed)}",
            told.where,
            fix="seat the NIC in a slot that carries it, and look at LnkSta of lspci -vv",
            devices=told.devices,
        )


def _packet_size(read: NodeRead, mtu_bytes: int | None, end: str, devices: tuple[str, ...]) -> Iterator[Diagnostic]:
    """M-3 and M-4: every rail of every node has one MTU; a smaller one is smaller for whoever talks to it."""
    wanted = read.fabric.policies.mtu.hosts_bytes
    if mtu_bytes is None or mtu_bytes >= wanted:
        return  # a larger one is compared with the switch's (M-1)
    roce, intended = roce_mtu_bytes(mtu_bytes), roce_mtu_bytes(wanted)
    falls = f": RoCE falls from {intended} to {roce} bytes on this path" if roce < intended else ""
    yield error(
        "M-4" if falls else "M-3",
        f"{end} has an MTU of {mtu_bytes} bytes towards {devices[-1]}, all other rails have {wanted}{falls}",
        read.where,
        fix=f"set the MTU of {end} to {wanted}",
        devices=devices,
    )


def _pauses(nic: Mapping[str, Any], end: str, told: _Told) -> Iterator[Diagnostic]:
    """Q-3: priorities are paused, never the whole port."""
    on = [way for way in ("rx", "tx") if nic.get(f"pause_{way}") == "on"]
    if on:
        yield error(
            "Q-3",
            f"{end} and {told.devices[-1]} differ in what a pause stops: {end} has global pause on"
            f" ({', '.join(on)}), which stops every class",
            told.where,
            fix="ethtool -A INTERFACE rx off tx off",
            devices=told.devices,
        )


def _routing(read: NodeRead, rail: Rail) -> Iterator[Diagnostic]:
    """N-2: a rail has its own address, and a rule that sends what leaves with it to the rail's table."""
    nic, end, devices = read.nic(rail.name), f"{read.host.name}:{rail.name}", (read.host.name, rail.switch)
    address = f"{ipv4_text(rail.address)}/{LINK_PREFIX_LENGTH}"
    held = nic.get("addresses")
    if held is not None and held != [address]:
        yield error(
            "N-2",
            f"{end} has {', '.join(held) or 'no address'} and {rail.switch} expects {address}",
            read.where,
            fix=f"give {end} the address {address} and no other",
            devices=devices,
        )
    tables = nic.get("tables")
    if tables is not None and tables != [rail.table]:
        listed = ", ".join(map(str, tables)) or "none"
        yield error(
            "N-2",
            f"what leaves with the address of {end} is routed by table {listed}, that of its rail to {rail.switch} is"
            f" {rail.table}: packets leave on another rail",
            read.where,
            fix=f"ip rule add priority {rail.rule_priority} from {ipv4_text(rail.address)} table {rail.table}",
            devices=devices,
        )


def _kernel(read: NodeRead, rails: tuple[Rail, ...]) -> Iterator[Diagnostic]:
    """N-3: ARP and reverse-path rules of a node with several rails."""
    held = read.document.get("sysctl", {})
    leaves = tuple(dict.fromkeys(rail.switch for rail in rails))
    for key, wanted in kernel_settings(rails).items():
        if key in held and str(held[key]) != wanted:
            yield error(
                "N-3",
                f"{key} of {read.host.name} is {held[key] or 'not there'}, not {wanted}: {', '.join(leaves)} may learn"
                " the address of one rail on another, or answers are dropped",
                read.where,
                fix=f"sysctl -w {key}={wanted}",
                devices=(read.host.name, *leaves),
            )


def _nccl(read: NodeRead, leaves: list[str]) -> Iterator[Diagnostic]:
    """N-4: NCCL marks with the DSCP of the RDMA class."""
    wanted, tc = marking(read.fabric.policies.classes), read.document.get("nccl", {}).get("NCCL_IB_TC")
    if wanted is not None and tc is not None and str(tc) != str(wanted.tos):
        yield error(
            "N-4",
            f"NCCL of {read.host.name} marks with NCCL_IB_TC {tc}; {', '.join(leaves)} take {wanted.tos} (DSCP"
            f" {wanted.dscp} x 4 + ECT) for RDMA",
            read.where,
            fix=f"set NCCL_IB_TC={wanted.tos} in /etc/nccl.conf",
            devices=(read.host.name, *leaves),
        )
