"""Commands on small states: exit status, texts and rows as SONiC 202505's own programs gave them for the same words.

``compared_commands.json`` holds the states, and by command what changed of them.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from by_check import sampled
from sim_switches import sim_device

import sonic_sim.commands  # noqa: F401  registers the programs
from sonic_sim.clock import Clock
from sonic_sim.device import Device
from sonic_sim.shell.run import Shell
from sonic_sim.shell.streams import Captured

_DATA: dict[str, Any] = json.loads(Path(__file__).with_name("compared_commands.json").read_bytes())


@pytest.mark.parametrize("case", sampled(_DATA["cases"], every=4), ids=lambda case: f"{case['command']}, {case['on']}")
def test_a_command_answers_as_sonic_did(case: dict[str, Any]) -> None:
    before: dict[str, dict[str, str]] = _DATA["rows"][case["on"]]
    device = Device(sim_device("leaf1", 1), Clock(1e-6), daemons=False)
    device.install()
    for key in list(device.db.rows):
        device.db.delete(key)
    for key, row in before.items():
        device.db.put(key, row)
    shell, captured = Shell(device, "root", "/root"), Captured("")
    line = f"export SONIC_CLI_IFACE_MODE=alias; {case['command']}" if "by alias" in case else case["command"]
    status = asyncio.run(shell.run_line(line, captured.streams))
    assert (status, captured.stdout, captured.stderr) == (case["exit"], case["out"], case["err"])
    expected = {key: row for key, row in before.items() if key not in case.get("rows gone", ())}
    assert device.db.rows == expected | case.get("rows after", {})
