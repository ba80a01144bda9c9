"""The simulator answers recorded commands as SONiC did: exit status, texts and the change of CONFIG_DB.

The recordings lie beside the project; where they are not there, nothing is collected (the project's own unit tests hold
the same behavior in fewer cases).
"""

import json
import re
from typing import Any

import pytest
from recording import FOLDER, Ran, device_of, load, run, scenario_names

from sonic_sim.frr import show

ALL = None
NOT_REPLAYED: dict[str, tuple[tuple[int, ...] | None, str]] = {
    # scenario: (steps, or ALL), why
    "apply-patch/no-sudo": (ALL, "an image without sudo; every simulated switch has it"),
    "apply-patch/sonicyang": ((1,), "the refusal quotes the configuration in YANG form, which is not simulated"),
    "apply-patch/vlan-remove-all": ((0,), "the recording's kernel had no device for the VLAN"),
    "cfggen/hwinfo": ((1, 2, 3), "the device folders of the image are not simulated"),
    "cfggen/preset": (ALL, "the device folders of the image are not simulated; factory.py makes the sample"),
    "checkpoint/create-list-delete": ((4,), "checkpoints have other times"),
    "frr/bgp-summary": (ALL, "the recording's docker is a stand-in that fails; jq is not simulated"),
    "frr/routes": (ALL, "the recording's docker is a stand-in that fails; jq is not simulated"),
    "frr/vtysh-forms": (ALL, "the recording's containers share the files of the host"),
    "general/unknown": ((3,), "the help lists only simulated commands"),
    "interface/breakout": (ALL, "live breakout needs the image's platform.json"),
    "interface/breakout-asic-stuck": (ALL, "live breakout needs the image's platform.json"),
    "interface/breakout-load-predefined": (ALL, "live breakout needs the image's platform.json"),
    "qos/reload": (ALL, "config qos reload needs the templates of the image"),
    "qos/reload-dry-run": (ALL, "config qos reload needs the templates of the image"),
    "qos/reload-mellanox": (ALL, "config qos reload needs the templates of the image"),
    "qos/reload-ports": (ALL, "config qos reload needs the templates of the image"),
    "qos/reload-leaf": (ALL, "config qos reload needs the templates of the image"),
    "reload/lock": (ALL, "the recording holds the lock by a subshell; test_sim_reload.py holds it itself"),
    "reload/lock-gcu": (ALL, "the recording holds the lock by a subshell; test_sim_reload.py holds it itself"),
    "reload/no-mac": (ALL, "the recording made the missing address up; test_sim_reload.py checks the real one"),
    "reload/not-ready": (ALL, "the recording's systemctl is a stand-in; test_sim_reload.py waits on the clock"),
    "replace/empty-and-list": ((4,), "which of many refusals comes first follows the order of a Python set"),
    "replace/partial": (ALL, "which of many refusals comes first follows the order of a Python set"),
    "save/after-commands": ((2, 5), "jq is not simulated"),
    "save/leaf-same": ((1,), "a broken pipe, which comes or not"),
    "show/interfaces-breakout-leaf": ((3,), "the image's platform.json lists the modes"),
    "show/ip-interfaces": (ALL, "the recording's kernel had no devices for the interfaces"),
    "show/route-nobgpd": (ALL, "the recording's docker is a stand-in that fails"),
    "show/running-acl-ntp": ((1,), "the recording had no rsyslog.conf of SONiC"),
    "show/tables": ((2,), "the addresses are the recording machine's"),
    "show/version": (ALL, "build, time and load are the recording machine's"),
    "show/version-parts": ((0,), "build and kernel are the recording machine's"),
    "show/uptime-clock": ((0,), "the recording machine's"),
    "show/vtysh": ((0,), "the recording had no bgpd"),
    "system/clock-banner": ((0, 1), "the recording had no systemd"),
}
RECORDED_FRR = "8.4.4"
_BROKEN_PIPE = re.compile(r"Exception ignored in: .*\nBrokenPipeError: .*\n")


def normal(text: str) -> str:
    """Remove what differs from run to run: the order of Python sets, and a writer's complaint about ``head``."""
    text = _BROKEN_PIPE.sub("", text).replace("-?, -h, --help", "-h, -?, --help")
    text = re.sub(r"(?<=Valid interface types:).*", lambda found: ",".join(sorted(found.group().split(","))), text)
    text = re.sub(r"\{('[^']*'(?:, '[^']*')+)\}", lambda found: str(sorted(found.group(1).split(", "))), text)
    return re.sub(r"(?<=localhost: Patch: )\[.*\]$", _sorted_patch, text, flags=re.MULTILINE)


def _sorted_patch(found: re.Match[str]) -> str:
    return str(sorted(json.dumps(one) for one in json.loads(found.group())))


def expected(step: dict[str, Any]) -> Ran:
    """Return what was recorded for a step."""
    diff = {name: part for name, part in (step.get("config_db_diff") or {}).items() if part}
    return Ran(step["exit"], normal(step["stdout"]), normal(step.get("stderr") or ""), diff)


NAMES = [name for name in scenario_names() if NOT_REPLAYED.get(name, ((), ""))[0] is not ALL]


@pytest.fixture(autouse=True)
def recorded_frr_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "FRR_VERSION", RECORDED_FRR)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_scenario_ends_as_on_sonic(name: str) -> None:
    scenario = load(name)
    device = device_of(scenario)
    left_out, _ = NOT_REPLAYED.get(name, ((), ""))
    for number, step in enumerate(scenario["steps"]):
        ran = run(device, step)
        ran = Ran(ran.exit, normal(ran.stdout), normal(ran.stderr), ran.diff)
        if number not in (left_out or ()):
            assert ran == expected(step), f"step {number}: {step['command']}"


def test_the_tables_of_exceptions_name_real_scenarios() -> None:
    assert not FOLDER.exists() or NOT_REPLAYED.keys() <= set(scenario_names())
