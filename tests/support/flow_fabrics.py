"""Fabrics of intents as simulated switches and NICs that run what is rendered, without processes."""

import json
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from acceptance_fabrics import INTENTS

from railweave.api.design.intent import gather_text
from railweave.api.simulator.sim import simulator_spec
from railweave.report.artifacts import write_artifacts
from railweave.templates import find_templates
from sonic_sim.bgp.routes import pass_seconds
from sonic_sim.clock import Clock
from sonic_sim.device import Device, Fabric
from sonic_sim.flows.constants import Constants
from sonic_sim.flows.model import FlowModel, use_model
from sonic_sim.spec import SimState


@dataclass
class TestClock(Clock):
    """A clock that stands still until it is advanced."""

    __test__ = False

    def now(self) -> float:
        return 1.8e9 + self.ahead_s

    def monotonic(self) -> float:
        return 1000.0 + self.ahead_s


@dataclass
class TestNic:
    """A NIC as a node has set it up."""

    __test__ = False

    name: str
    rdma: str = ""
    vendor: str = "nvidia"
    nic: int = 0
    up: bool = True
    mtu: int = 9000
    addresses: list[str] = field(default_factory=list)
    trusts_dscp: bool = True
    priority_of: dict[int, int] = field(default_factory=dict)
    pfc: frozenset[int] = frozenset({3})
    traffic_class: int | None = None
    cnp_dscp: int = 48
    counters: dict[str, int] = field(default_factory=dict)


@cache
def rendered(name: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the specification, the switches' states and the nodes' documents of a fabric; made once."""
    gathered = gather_text(INTENTS[name], name)
    assert gathered.fabric is not None, gathered.diagnostics
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        write_artifacts(gathered.fabric, out, find_templates(None), hosts=True, processes=1)
        states = {}
        for path in (out / "switches").iterdir():
            config = json.loads((path / "config_db.json").read_text())
            states[path.name] = SimState(config, (path / "frr.conf").read_text(), config)
        nodes = {path.name: json.loads((path / "rails.json").read_text()) for path in (out / "hosts").iterdir()}
    return simulator_spec(gathered.fabric, gathered.catalog), states, nodes


class FlowRig:
    """A simulated fabric and its flows."""

    def __init__(self, name: str, constants: Constants | None = None, clock: Clock | None = None) -> None:
        spec, states, nodes = rendered(name)
        self.clock = clock or TestClock(0.0)
        self.net = Fabric()
        self.net.invents_traffic = False
        for device_spec in spec.devices:
            device = Device(device_spec, self.clock)
            device.install()
            device.take_over(states[device.name])
            self.net.add_device(device)
        self.net.hosts = {host.name: host for host in spec.hosts}
        for cable in spec.cables:
            self.net.plug(cable)
        pass_seconds(self.net, 60.0)
        self.clock.advance(60.0)
        self.nics = {node: [_nic(rail, document, spec) for rail in document["interfaces"]]
                     for node, document in nodes.items()}  # fmt: skip
        self.model = FlowModel(self.net, self.clock, constants or Constants(seed=1, speedup=1))
        self.model.nics.read = lambda: self.nics
        use_model(self.net, self.model)


def _nic(rail: dict[str, Any], document: dict[str, Any], spec: Any) -> TestNic:
    number = rail["name"].removeprefix("rail").partition("p")[0]
    addresses = rail.get("addresses", [rail["address"]])
    marking = document.get("nic", {})
    return TestNic(
        rail["name"],
        rail.get("rdma", ""),
        nic=int(number) if number.isdecimal() else 0,
        mtu=rail["mtu"],
        addresses=addresses,
        pfc=frozenset(marking.get("pfc", ())),
        cnp_dscp=marking.get("cnp", {}).get("dscp", 48),
        priority_of={marking["rdma"]["dscp"]: marking["rdma"]["priority"]} if "rdma" in marking else {},
    )
