"""A self-test of a simulated switch in this process: the real driver, the real program, and a clock that is driven."""

import shlex
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import pytest

import sonic_sim.commands  # noqa: F401  registers the programs
from napalm_sonic import driver as driver_module
from napalm_sonic.driver import SonicDriver
from napalm_sonic.session import Completed, Session
from nornir_railweave.events import silent
from nornir_railweave.tasks.selftest import SelftestOrder, _Selftest
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.intent.load import load_intent_text
from railweave.plan.selftest import SelftestReport
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import ConfigDb, DeviceConfig
from railweave.templates import find_templates
from railweave_switch import main
from railweave_switch.packing import packed
from sonic_sim.clock import Clock
from sonic_sim.device import Device
from sonic_sim.spec import SimDevice
from sonic_sim.switch_host import SimulatedHost, look

INTENT = """
fabric: pod
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 4, gpus: 8, nics: {count: 2, speed: 400G, model: connectx-7}}
topology:
  leaf: {model: nokia-ixr7220-h4-64d, count: 2}
  spine: {model: nvidia-sn4700, count: 2}
"""
SWITCHES = ("pod-leaf1", "pod-spine1")
"""One of each buffer model."""


@cache
def intended(name: str) -> DeviceConfig:
    fabric = design(load_intent_text(INTENT, "pod.yml"), load_catalog()).fabric
    assert fabric is not None
    return Configurator(fabric, find_templates()).device(fabric.switch_of[name])


def config_db(name: str) -> ConfigDb:
    return intended(name).config_db()


SECRETS = ("s3cret-key", "c0mmunity")
MAC = "02:00:00:00:00:01"
NAMES = ("pod-leaf9", "gpu17", "192.0.2.77")


def spare(name: str, ports: int = 4) -> Device:
    """Return a switch that runs what is intended of the first ports of ``name``, secrets and names, without a link."""
    tables = config_db(name)
    panel = list(tables["PORT"])
    left = set(panel[ports:])
    factory: dict[str, Any] = {
        table: {key: dict(row or {}) for key, row in rows.items() if key.partition("|")[0] not in left}
        for table, rows in tables.items()
    }
    for cables in factory.get("CABLE_LENGTH", {}).values():
        for port in left:
            cables.pop(port, None)
    factory["TACPLUS"] = {"global": {"passkey": SECRETS[0]}}
    factory["SNMP_COMMUNITY"] = {SECRETS[1]: {"TYPE": "RO"}}
    factory["DEVICE_METADATA"]["localhost"] |= {"hostname": NAMES[0], "mac": MAC, "platform": "x86_64-kvm_x86_64-r0"}
    factory["DEVICE_NEIGHBOR"] = {panel[1]: {"name": NAMES[1], "port": "eth0"}}
    factory["LOOPBACK_INTERFACE"] = {"Loopback0": {}, f"Loopback0|{NAMES[2]}/32": {}}
    device = Device(SimDevice(NAMES[0], factory, "SN1", MAC), Clock(0.0))
    device.install()
    return device


@dataclass
class SimSession(Session):
    """A session by calls of the program on a switch of this process."""

    device: Device = field(kw_only=True)

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def alive(self) -> bool:
        return True

    def answers(self) -> bool:
        return True

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        words = shlex.split(command.removeprefix("sudo -n "))
        assert words[0] == main.PROGRAM, command
        status, text = main.run(SimulatedHost(self.device), words[1:], lambda: data)
        return Completed(command, status, text, "")


@dataclass
class SwitchClock:
    """The clock of the switch, whose guard looks whenever time has passed."""

    device: Device

    def monotonic(self) -> float:
        return self.device.clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self.device.clock.advance(seconds)
        look(self.device)


def selftest_of(device: Device, order: SelftestOrder, monkeypatch: pytest.MonkeyPatch) -> SelftestReport:
    """Return what a self-test of a switch found."""
    device.files.write(main.PROGRAM, packed(), mode=0o755)
    clock = SwitchClock(device)
    monkeypatch.setattr(
        driver_module, "_new_session", lambda host, user, *_: SimSession(host, user, "", 60, device=device)
    )
    driver = SonicDriver(device.name, "admin", "", 60, {"reload_poll": 1.0})
    driver.open()
    opened = SimpleNamespace(driver=driver, reconnect=lambda within_s, clock: driver)
    test = _Selftest(device.name, cast(Any, opened), order, silent, cast(Any, clock))
    return test.run(driver.revert_timer)
