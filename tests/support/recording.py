"""Replay of recorded scenarios: a switch in the recorded initial state, the recorded commands, and what they left."""

import asyncio
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sonic_sim.commands  # noqa: F401  registers the programs
from sonic_sim.clock import Clock
from sonic_sim.configdb import Hash, rows_of
from sonic_sim.device import CONFIG_FILE, FRR_FILE, VERSION_FILE, Device
from sonic_sim.frr.show import Build
from sonic_sim.image import Image
from sonic_sim.shell.run import Shell
from sonic_sim.shell.streams import Captured
from sonic_sim.spec import SimDevice

FOLDER = Path(__file__).parents[2].parent / "shared" / "sonic-recorded"


_STUB = "/var/log/stub"
"""Where the recordings' stand-in for systemctl reads what it answers."""


_WITH_PLATFORM_FOLDER = ("initial/leafh4.json", "initial/t1h4.json")
"""Where the machine of the third part had the folder that containers have."""


_BROKEN_PIPE = re.compile(r"(?:Exception ignored in: .*|Traceback .*\n  \.\.\.)\nBrokenPipeError: .*\n")
_FORKED = re.compile(r"^\[PID\|\w+\] (?:done|Configuration file)", re.MULTILINE)
_STAND_IN = re.compile(r"/usr/bin/docker: line \d+: syntax error: unexpected end of file\n")
_VARYING = (
    # what differs from machine to machine and from run to run, and what it is shown as
    (re.compile(r"(?<=\"time\": \")[^\"]+"), "TIME"),
    (re.compile(r"Uptime: .*"), "Uptime: TIME"),
    (re.compile(r"Date: .*"), "Date: TIME"),
    (re.compile(r"(?<=\"mac\": \")[0-9a-f:]{17}"), "MAC"),
    (re.compile(r"differ: char"), "differ: byte"),
    # which of many refusals comes first follows the order of a Python set
    (re.compile(r"Modification of \w+ table is illegal- validating function \S+"), "Modification is illegal"),
    (re.compile(r"up N hours, N minute|up N minutes?|up N days?.*"), "up N"),
    (re.compile(r"^\[\d+(?=\|\w+\] )", re.MULTILINE), "[PID"),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """What one command did here."""

    exit: int
    stdout: str
    stderr: str
    diff: dict[str, Any]


NOT_SIMULATED: dict[str, tuple[str, ...]] = {
    "log-in by TACACS+ and RADIUS": ("system/tacacs-aaa",),
    "NTP, DNS, the clock, banners and kernel dumps": (
        "show/running-acl-ntp",
        "show/uptime-clock",
        "system/clock-banner",
        "system/dns",
        "system/kdump-memory",
        "system/ntp",
    ),
    "sFlow": ("system/sflow",),
    "SNMP": ("show/mgmt-interface",),
    "sample configurations of sonic-cfggen": ("cfggen/preset",),
    "patches in the SonicYang format": ("apply-patch/sonicyang",),
    "subinterfaces": ("interface/subinterface",),
    "tags of another protocol than 802.1Q": ("interface/description-tpid",),
    "retries of LACP": ("portchannel/retry-count",),
    "ports named by their aliases": ("show/interfaces-alias-forms",),
}
"""The scenarios that are left out, by what their commands configure: nobody renders or types it on the switches of a
GPU fabric, so the simulator has these commands by name only."""


def scenario_names() -> list[str]:
    """Return ``category/id`` of every recorded scenario but those of NOT_SIMULATED."""
    names = [path.relative_to(FOLDER / "scenarios").with_suffix("") for path in FOLDER.glob("scenarios/*/*.json")]
    return sorted({str(name) for name in names}.difference(*NOT_SIMULATED.values()))


def load(name: str) -> dict[str, Any]:
    """Return a recorded scenario."""
    return dict(json.loads((FOLDER / "scenarios" / f"{name}.json").read_bytes()))


class RecordedDevice(Device):
    """A switch with the software of the recordings."""

    def image(self) -> Image:
        """Return what ``show version`` names."""
        return Image(version="SONiC.202505.0-recorded", built_by="recorded@lab", frr=Build("8.4.4", patched=False))


class RecordedFrrDevice(RecordedDevice):
    """A switch with upstream FRR 10.3 in a container of its own, whose kernel is the recording machine's."""

    def image(self) -> Image:
        """Return what ``show version`` names."""
        return replace(super().image(), frr=Build("10.3", patched=False), kernel="6.18.44-fc-v657")


def device_of(scenario: dict[str, Any]) -> Device:
    """Return a switch in the scenario's initial state, without daemons, as in the recording."""
    text = (FOLDER / scenario["initial"]).read_text(encoding="utf-8")
    document = json.loads(text)
    without = ("systemd", *(("sudo",) if scenario.get("id") == "no-sudo" else ()))
    own_frr = scenario.get("category") == "frr"
    without += () if own_frr else ("bgpd",)
    spec = SimDevice("leaf1", document, "N/A", "52:54:00:12:34:56", scenario.get("asic_type", "vs"), without)
    kind = RecordedFrrDevice if own_frr else RecordedDevice
    device = kind(spec, Clock(1e-6), daemons=False)  # sleeps take nothing and keep their order
    init = (FOLDER / "initial" / "init_cfg.json").read_bytes()
    device.files.write("/etc/sonic/init_cfg.json", init)
    device.files.write(CONFIG_FILE, text.encode())
    device.files.write(VERSION_FILE, device.image().version_file(spec.asic).encode())
    device.db.replace_all(document)
    device.frr.start("log syslog informational\nno ipv6 forwarding\nservice integrated-vtysh-config\n", "sonic")
    if own_frr:  # its container was started with this file and has no vtysh.conf
        device.files.write(FRR_FILE, b"")
    for path, content in (scenario.get("files") or {}).items():
        device.files.write(path, content.encode())
    for number, rows in (scenario.get("state") or {}).items():
        for key, fields in rows.items():
            if number == "4":
                device.db.put(key, fields)
            else:
                device.other.setdefault(int(number), {})[key] = dict(fields)
    device.files.make_directory(_STUB)
    if scenario["initial"] in _WITH_PLATFORM_FOLDER:
        device.files.make_directory("/usr/share/sonic/platform", parents=True)
    if scenario.get("id") == "tables":
        run(device, {"command": "ip addr add 192.168.122.76/24 dev eth0"})  # the machine of the first two parts
    for command in scenario.get("setup") or ():
        run(device, {"command": command})
    _follow_stand_ins(device)
    return device


def _follow_stand_ins(device: Device) -> None:
    """Bring the switch's services into the state that a recording told its stand-in of systemctl."""
    now = device.clock.now()
    starting = device.files.exists(f"{_STUB}/is-system-running")
    device.times.frr_up = now + 100 if starting else now
    if not starting:
        device.frr.all_up()
    device.times.swss_up = now + 1 if device.files.exists(f"{_STUB}/swss-ts") else 0.0


def run(device: Device, step: dict[str, Any]) -> Ran:
    """Run one recorded command."""
    before = {key: dict(row) for key, row in device.db.rows.items()}
    if _STUB in step["command"] and "python3 -c" in step["command"]:
        # the recording makes up a time since which swss is up
        step = {**step, "command": f"rm {_STUB}/is-system-running; echo 0 > {_STUB}/swss-ts"}
    user = step.get("user") or "root"
    shell = Shell(device, user, "/root" if user == "root" else "/home/admin", terminal=bool(step.get("terminal")))
    captured = Captured(step.get("stdin") or "")
    captured.streams.terminal = bool(step.get("terminal"))
    status = asyncio.run(asyncio.wait_for(shell.run_line(step["command"], captured.streams), 300))
    if _STUB in step["command"]:
        _follow_stand_ins(device)
    return Ran(status, captured.stdout, captured.stderr, difference(before, device.db.rows))


def normal(text: str) -> str:
    """Remove what differs from run to run: the order of Python sets, and a writer's complaint about ``head``."""
    text = _STAND_IN.sub("", _BROKEN_PIPE.sub("", text))
    for pattern, shown in _VARYING:
        text = pattern.sub(shown, text)
    text = text.replace("-?, -h, --help", "-h, -?, --help")
    text = re.sub(r"(?<=Valid interface types:).*", lambda found: ",".join(sorted(found.group().split(","))), text)
    text = re.sub(r"\{('[^']*'(?:, '[^']*')+)\}", lambda found: str(sorted(found.group(1).split(", "))), text)
    if _FORKED.search(text):  # one process for each daemon writes it, all at once
        text = "".join(sorted(text.splitlines(keepends=True)))
    return re.sub(r"(?<=localhost: Patch: )\[.*\]$", _sorted_patch, text, flags=re.MULTILINE)


def _sorted_patch(found: re.Match[str]) -> str:
    return str(sorted(json.dumps(one) for one in json.loads(found.group())))


def expected(step: dict[str, Any]) -> Ran:
    """Return what was recorded for a step."""
    diff = {name: part for name, part in (step.get("config_db_diff") or {}).items() if part}
    if set((diff.get("changed") or {}).get("DEVICE_METADATA|localhost", {}).get("set", ())) == {"mac"}:
        del diff["changed"]["DEVICE_METADATA|localhost"]  # made up in each run; test_sim_reload.py checks the real one
    return Ran(step["exit"], normal(step["stdout"]), normal(step.get("stderr") or ""), diff)


def difference(before: dict[str, Hash], after: dict[str, Hash]) -> dict[str, Any]:
    """Return the change of CONFIG_DB in the recordings' form."""
    added = {key: row for key, row in after.items() if key not in before}
    removed = {key: row for key, row in before.items() if key not in after}
    changed = {}
    for key, row in after.items():
        old = before.get(key, row)
        if old != row:
            written = {name: value for name, value in row.items() if old.get(name) != value}
            changed[key] = {"set": written, "unset": sorted(name for name in old if name not in row)}
    parts = {"added": added, "removed": removed, "changed": changed}
    return {name: part for name, part in parts.items() if part}


__all__ = ["FOLDER", "Ran", "device_of", "difference", "expected", "load", "normal", "rows_of", "run", "scenario_names"]
