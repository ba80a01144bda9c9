"""A leaf of lab-4 as its switch's databases describe it, read by the switch's own program for monitoring."""

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from health_trials import fabric_of
from telemetry_samples import Samples, samples_of

from napalm_sonic.monitored import monitored_of
from railweave.exporter.lines import exposition
from railweave.exporter.model import MonitoredReading
from railweave.exporter.samples import SwitchSampler
from railweave.fabric.link_limits import LimitsOf
from railweave.fabric.model import Fabric
from railweave.links.cages import Cages
from railweave.plan.observation import LldpNeighbor, Observation, ObservedSession, PortState
from railweave.sonic.document import running_from
from railweave.switch_driver import CommitStatus
from railweave_switch.host import Hash, SwitchHost
from railweave_switch.telemetry import telemetry

LEAF = "lab-leaf1"
NODE_PORT = "Ethernet0"
UPLINK = "Ethernet112"
_PORTS = {NODE_PORT: "oid:0x1000000000a11", UPLINK: "oid:0x1000000000a12"}
_QUEUES = {f"{NODE_PORT}:3": "oid:0x15000000000c03", f"{UPLINK}:3": "oid:0x15000000000c23"}
_GROUPS = {f"{NODE_PORT}:3": "oid:0x1a000000000e03", f"{UPLINK}:3": "oid:0x1a000000000e13"}
MAPS: dict[str, Hash] = {
    "COUNTERS_PORT_NAME_MAP": _PORTS,
    "COUNTERS_QUEUE_NAME_MAP": _QUEUES,
    "COUNTERS_PG_NAME_MAP": _GROUPS,
}
"""The maps of object ids of the corpus's COUNTERS_DB."""
OF_NODE, OF_UPLINK = _PORTS.values()
QUEUE_OF_NODE, QUEUE_OF_UPLINK = _QUEUES.values()
GROUP_OF_NODE, GROUP_OF_UPLINK = _GROUPS.values()


@dataclass
class DatabaseHost:
    """The databases of a switch by name and key."""

    databases: Mapping[str, Mapping[str, Mapping[str, str]]]
    at: float = 1000.0

    def rows(self, database: str, pattern: str = "*") -> dict[str, Mapping[str, str]]:
        rows = self.databases.get(database, {})
        return {key: row for key, row in rows.items() if fnmatch.fnmatchcase(key, pattern)}

    def wall_s(self) -> float:
        return self.at

    def boot_id(self) -> str:
        return "b"


def answered(
    counters: Mapping[str, Mapping[str, str]], at: float = 1000.0, **databases: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Return what the switch's program answers to monitoring with these rows of COUNTERS_DB."""
    rows = {"COUNTERS_DB": {**MAPS, **counters}, **databases}
    host = cast(SwitchHost, DatabaseHost(rows, at))
    return dict(monitored_of({"telemetry": telemetry(host)}) or {})


def observed(**changes: Any) -> Observation:
    """Return a leaf that shows its first uplink as planned: address 10.0.0.1 stands for the peer of the session."""
    seen: dict[str, Any] = {
        "ports": {NODE_PORT: PortState(True, False, 9216), UPLINK: PortState(True, True, 9216)},
        "lldp": {UPLINK: (LldpNeighbor("lab-spine1", "Ethernet0"),)},
    }
    return Observation(**{**seen, **changes})


def established(fabric: Fabric) -> dict[str, ObservedSession]:
    """Return the sessions of the leaf, the last one down."""
    from railweave.plan.expectation import expect

    sessions = expect(fabric, fabric.switch_of[LEAF]).sessions
    return {session.peer: ObservedSession(session.remote_asn, session is not sessions[-1]) for session in sessions}


def running(name: str = LEAF, frr: str = "hostname lab-leaf1\n") -> Any:
    fabric, _ = fabric_of("lab-4")
    metadata = {
        "hostname": name,
        "docker_routing_config_mode": "split-unified",
        "platform": fabric.switch_of[LEAF].panel.platform,
    }
    return running_from({"DEVICE_METADATA": {"localhost": metadata}, "bgpraw": frr})


def reading(answer: dict[str, Any], **parts: Any) -> MonitoredReading:
    values = {"observation": observed(), "status": CommitStatus(pending=False), "running": running()}
    return MonitoredReading(**{**values, "telemetry": answer, **parts})


def sampler(release: str = "202511") -> SwitchSampler:
    fabric, _ = fabric_of("lab-4", release)
    return SwitchSampler(fabric, LEAF, Cages(fabric), LimitsOf(fabric))


def samples(read: MonitoredReading, taken: SwitchSampler | None = None) -> Samples:
    """Return the samples of a reading, without the device, which all of them have."""
    text = exposition((taken or sampler())(read).samples.items())
    without = {}
    for (name, labels), value in samples_of(text).items():
        assert ("device", LEAF) in labels
        without[name, labels - {("device", LEAF)}] = value
    return without


def at(name: str, port: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    """Return the key of a sample of a port."""
    return f"sonic_{name}", frozenset({"port": port, **labels}.items())
