"""The steps of the golden cases, run by the simulated switch's own commands: they arrive, and they lead back."""

import asyncio
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from engine_tools import apply_steps, rollback_steps

import sonic_sim.commands  # noqa: F401  registers the programs
from railweave.sonic.delta.diff import diff
from railweave.sonic.delta.merge import merge_document
from railweave.sonic.delta.steps import HdelStep, LoadStep, PatchStep, ReloadStep, Step, VtyshStep
from railweave.sonic.document import RunningConfig, parse_running
from railweave.sonic.frr import parse_frr
from railweave.sonic.rows import DeviceConfig, Row
from sonic_sim.clock import Clock
from sonic_sim.device import Device
from sonic_sim.shell.run import Shell
from sonic_sim.shell.streams import Captured
from sonic_sim.spec import SimDevice

CASES = sorted((Path(__file__).parents[2] / "golden" / "changes" / "cases").iterdir())


class Switch:
    def __init__(self, document: dict[str, Any]) -> None:
        tables = {table: rows for table, rows in document.items() if table != "bgpraw"}
        self.device = Device(SimDevice("leaf1", tables, "N/A", "52:54:00:12:34:56", "vs"), Clock(0.0))
        self.device.install()
        self.device.frr.start(str(document["bgpraw"]), self.device.hostname)

    def run(self, command: str) -> str:
        captured = Captured("")
        shell = Shell(self.device, "root", "/root", terminal=False)
        status = asyncio.run(asyncio.wait_for(shell.run_line(command, captured.streams), 300))
        assert status == 0, f"{command}: {captured.stdout} {captured.stderr}"
        return str(captured.stdout)

    def running(self) -> RunningConfig:
        return parse_running(self.run("show runningconfiguration all"))

    def apply(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            match step:
                case LoadStep(document):
                    self.device.files.write("/tmp/f", json.dumps(document).encode())
                    self.run("config load -y /tmp/f")
                case PatchStep(operations):
                    self.device.files.write("/tmp/f", json.dumps(list(operations)).encode())
                    self.run("config apply-patch /tmp/f")
                case HdelStep(key, fields):
                    self.run(f"sonic-db-cli CONFIG_DB HDEL {shlex.join([key, *fields])}")
                case VtyshStep(text):
                    self.device.files.write("/etc/sonic/frr/railweave.conf", text.encode())
                    self.run("vtysh -f /etc/frr/railweave.conf")
                case ReloadStep(config_db, frr):
                    self.device.files.write("/tmp/f", json.dumps(config_db).encode())
                    self.device.files.write("/etc/sonic/frr/frr.conf", frr.encode())
                    self.run("config reload -y -f /tmp/f")


def wanted_of(case: Path) -> DeviceConfig:
    wanted = json.loads((case / "wanted.json").read_text())
    rows = tuple(
        Row(table, key, fields, "") for table, found in wanted["config_db"].items() for key, fields in found.items()
    )
    return DeviceConfig(wanted["device"], rows, wanted["frr"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_steps_arrive_and_lead_back(case: Path) -> None:
    switch, wanted = Switch(json.loads((case / "running.json").read_text())), wanted_of(case)
    before = switch.running()
    found = diff(wanted.device, before, wanted, remove_conflicting=True)
    merge = merge_document(found.delta)
    assert found.delta.changes
    switch.apply(apply_steps(merge, before))
    assert diff(wanted.device, switch.running(), wanted).delta.changes == ()
    switch.apply(rollback_steps(merge, before))
    after = switch.running()
    assert after.config_db == before.config_db
    if not found.unprovisioned:  # such a switch makes FRR's configuration itself when it starts
        assert set(parse_frr(after.frr or "").entries) == set(parse_frr(before.frr or "").entries)
