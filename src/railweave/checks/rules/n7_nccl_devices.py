"""NCCL's variables can take it off the fabric: a list of other devices or interfaces, a network without RDMA, or a path
that the fabric does not have. Lists name devices by prefix, with `=` exactly, with `^` those to leave out; a number
that NCCL cannot read counts as not set."""

from collections.abc import Iterator
from typing import NamedTuple

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric
from railweave.hosts.render import meets_rails, nccl_settings
from railweave.wording import first_few

RULE = rule(
    "N-7",
    "NCCL uses the RDMA devices of the fabric, and its front end to start",
    __doc__,
    "NCCL_IB_HCA=mlx5_8 in /etc/nccl.conf",
)

# NCCL's default: it uses another NIC if the ring gets shorter by it.
_AUTOMATIC_CROSS_NIC = 2


class _Fault(NamedTuple):
    """A variable that takes NCCL off the fabric, and why."""

    variable: str
    message: str
    severity: Severity = Severity.ERROR


@RULE.on_node
def check_nccl(node: NodeRead) -> Breaches:
    """Yield a breach for each variable of NCCL that takes it off the devices, interfaces or paths of the fabric."""
    if not node.host.runs_nccl or "nccl" not in node.document:
        return
    nccl = {key: str(value) for key, value in node.document["nccl"].items()}
    intended = nccl_settings(node.fabric, node.intended)
    for fault in _faults(node, nccl):
        actual = nccl.get(fault.variable, "is not set")
        intended_value = intended.get(fault.variable)
        if intended_value is None:
            fix = f"remove {fault.variable} from /etc/nccl.conf"
        else:
            fix = f"set {fault.variable}={intended_value} in /etc/nccl.conf"
        message = f"NCCL of {node.host.name} {fault.message} ({fault.variable} {actual})"
        yield Breach("", message, fix, fault.severity, devices=(node.host.name, *node.switches))


def _faults(node: NodeRead, nccl: dict[str, str]) -> Iterator[_Fault]:
    """Yield a fault for each wrong variable; ``nccl`` are the variables by name."""
    if _number(nccl, "NCCL_IB_DISABLE", 0) != 0:
        yield _Fault("NCCL_IB_DISABLE", "uses no RDMA device")
    if nccl.get("NCCL_NET", "").lower() == "socket":
        yield _Fault("NCCL_NET", "sends over TCP sockets, not over RDMA")
    yield from _device_faults(node, nccl)
    yield from _interface_faults(node, nccl)
    yield from _path_faults(node.fabric, nccl)
    pairs = node.fabric.policies.hosts.queue_pairs
    if pairs is not None and _number(nccl, "NCCL_IB_QPS_PER_CONNECTION", 1) != pairs:
        message = f"does not spread a connection over the {pairs} queue pairs of hosts.qps_per_connection"
        yield _Fault("NCCL_IB_QPS_PER_CONNECTION", message, Severity.WARNING)


def _default_faults(node: NodeRead) -> Iterator[_Fault]:
    """Yield a warning where NCCL's default, all devices, takes those of another fabric of the node too."""
    if node.fabric.rdma_beside and any(rail.rdma for rail in node.rails):
        beside = first_few(node.fabric.rdma_beside)
        yield _Fault("NCCL_IB_HCA", f"takes every RDMA device, those of {beside} too", Severity.WARNING)


def _device_faults(node: NodeRead, nccl: dict[str, str]) -> Iterator[_Fault]:
    """Yield a fault if NCCL_IB_HCA leaves out RDMA devices of rails.

    If it is not set, yield one if NCCL's default takes those of another fabric too.
    """
    stated = nccl.get("NCCL_IB_HCA")
    if stated is None:
        yield from _default_faults(node)
        return
    listed_devices = _NameList.parse(stated)
    rdma_rails = [rail for rail in node.rails if rail.rdma]
    # Each Ethernet port is an RDMA device with one port, number 1.
    left_out = [f"{rail.name} ({rail.rdma})" for rail in rdma_rails if not listed_devices.takes(rail.rdma, 1)]
    if left_out:
        yield _Fault("NCCL_IB_HCA", f"leaves out {first_few(left_out)}")


def _interface_faults(node: NodeRead, nccl: dict[str, str]) -> Iterator[_Fault]:
    """Yield a fault if NCCL starts over rails."""
    stated = nccl.get("NCCL_SOCKET_IFNAME")
    if stated is None:
        return
    listed_interfaces = _NameList.parse(stated)
    chosen_rails = [rail.name for rail in node.rails if listed_interfaces.takes(rail.name)]
    if chosen_rails:
        message = f"starts over {first_few(chosen_rails)}, which carries RDMA; its start belongs to the front end"
        yield _Fault("NCCL_SOCKET_IFNAME", message)


def _path_faults(fabric: Fabric, nccl: dict[str, str]) -> Iterator[_Fault]:
    """Yield a fault for each variable by which NCCL crosses rails where it should not, or does not where it could."""
    cross = _number(nccl, "NCCL_CROSS_NIC", _AUTOMATIC_CROSS_NIC)
    without_pxn = _number(nccl, "NCCL_PXN_DISABLE", 0) != 0
    if fabric.rail_only:
        if cross != 0:
            yield _Fault("NCCL_CROSS_NIC", "may send from one rail to another, between which there is no path")
        if without_pxn:
            yield _Fault("NCCL_PXN_DISABLE", "reaches no GPU of another rail: there is no path between rails")
    elif meets_rails(fabric):
        if cross == 1:
            yield _Fault("NCCL_CROSS_NIC", "sends from one rail to another, over the spines", Severity.WARNING)
        if without_pxn:
            message = "sends to GPUs of other rails over the spines, not over the node's own links"
            yield _Fault("NCCL_PXN_DISABLE", message, Severity.WARNING)
    elif cross == 0:
        message = "keeps every ring on one NIC, although all NICs of a node share their leaf"
        yield _Fault("NCCL_CROSS_NIC", message, Severity.WARNING)


class _ListedName(NamedTuple):
    """A name in a list of NCCL, with the number of its port; -1 for any port."""

    name: str
    port: int


class _NameList(NamedTuple):
    """A list of names as NCCL reads it; an empty list takes every name."""

    # With `^`: what it names is left out.
    excludes: bool
    # With `=`: names are compared whole, not by their prefix.
    is_exact: bool
    names: tuple[_ListedName, ...]

    @classmethod
    def parse(cls, text: str) -> "_NameList":
        """Return the list that a text states, such as ``^=mlx5_0,mlx5_1:1``."""
        rest = text.strip()
        excludes = rest.startswith("^")
        rest = rest.removeprefix("^")
        is_exact = rest.startswith("=")
        rest = rest.removeprefix("=")
        names = []
        for entry in rest.split(","):
            name, _, port = entry.strip().partition(":")
            if entry.strip():
                names.append(_ListedName(name, int(port) if port.isdecimal() else -1))
        return cls(excludes, is_exact, tuple(names))

    def takes(self, name: str, port: int = -1) -> bool:
        """Tell whether NCCL takes a device or interface."""
        if not self.names:
            return True
        is_listed = any(self._matches(listed, name, port) for listed in self.names)
        return is_listed != self.excludes

    def _matches(self, listed: _ListedName, name: str, port: int) -> bool:
        if listed.port not in (-1, port):
            return False
        if self.is_exact:
            return name == listed.name
        return name.startswith(listed.name)


def _number(nccl: dict[str, str], variable: str, otherwise: int) -> int:
    """Return the number of a variable, which is decimal, or hexadecimal with 0x.

    If it is not set or not a number, return ``otherwise``.
    """
    try:
        return int(nccl[variable], 0)
    except (KeyError, ValueError):
        return otherwise
