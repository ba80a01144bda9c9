"""What a simulated fabric keeps on disk: one file a switch, one for the fabric, keys; written whole or not at all."""

import base64
import contextlib
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from railweave_switch.state_forms import DamagedError
from sonic_sim.clock import Clock
from sonic_sim.device import Device, Fabric, Times
from sonic_sim.errors import SimulatorError
from sonic_sim.faults import faults_from_json
from sonic_sim.files import Directory, File
from sonic_sim.orchagent import orchagent_from_json
from sonic_sim.spec import SimCable, SimDevice, host_from_json, switch_from_json
from sonic_sim.switch_host import SimulatedHost


def write_whole(path: Path, data: bytes) -> None:
    """Write a file for its owner alone, so that a reader sees the old or the new content, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Renamed into place, so that a crash leaves no half of a file.
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    part.replace(path)


def device_to_json(device: Device) -> dict[str, Any]:
    """Return all that a switch must know after the simulator starts again."""
    files = device.files
    return {
        "version": 1,
        "spec": _spec_to_json(device.spec),
        "rows": device.db.rows,
        "initialized": device.initialized,
        "other": {str(number): rows for number, rows in device.other.items()},
        "hostname": device.hostname,
        "frr": {
            "running": device.frr.running,
            "hostname": device.frr.hostname,
            "text": device.frr.kept_text(),
            "bfdd": device.bfdd,
        },
        "files": {path: _file_to_json(file) for path, file in files.files.items()},
        "directories": {path: [folder.mode, folder.owner] for path, folder in files.directories.items()},
        "times": asdict(device.times),
        "faults": device.faults.to_json(),
        "guard": None if device.guard is None else device.guard.name,
        "orchagent": device.orchagent.to_json(),
    }


def _spec_to_json(spec: SimDevice) -> dict[str, Any]:
    return {
        "name": spec.name, "factory": spec.factory, "serial": spec.serial, "mac": spec.mac, "asic": spec.asic,
        "without": list(spec.without), "modules": {port: asdict(module) for port, module in spec.modules.items()},
    }  # fmt: skip


def _file_to_json(file: File) -> dict[str, Any]:
    return {**_content_to_json(file.data), "mode": file.mode, "owner": file.owner, "mtime": file.mtime}


def _content_to_json(data: bytes) -> dict[str, Any]:
    """Return the content of a file as plain values."""
    # Disk space in reserve, one byte again and again, would be megabytes of escapes.
    if len(data) > 1 and data == data[:1] * len(data):
        return {"byte": data[0], "times": len(data)}
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _content_from_json(value: Mapping[str, Any]) -> bytes:
    if "times" in value:
        return bytes([value["byte"]]) * int(value["times"])
    if "text" in value:
        return str(value["text"]).encode()
    return base64.b64decode(value["base64"])


def device_from_json(value: Mapping[str, Any], clock: Clock) -> Device:
    """Return the switch that `device_to_json` described. Raises KeyError, TypeError for another shape."""
    device = Device(switch_from_json(value["spec"]), clock)
    for key, row in value["rows"].items():
        device.db.put(key, row)
    device.initialized = value["initialized"]
    device.other = {int(number): rows for number, rows in value["other"].items()}
    device.hostname = value["hostname"]
    for path, file in value["files"].items():
        device.files.files[path] = File(_content_from_json(file), file["mode"], file["owner"], file["mtime"])
    device.files.directories = {path: Directory(mode, owner) for path, (mode, owner) in value["directories"].items()}
    device.frr.start(value["frr"]["text"], value["frr"]["hostname"])
    device.frr.running = value["frr"]["running"]
    # Folders of earlier simulators do not have it.
    device.bfdd = value["frr"].get("bfdd", False)
    device.times = Times(**value["times"])
    device.faults = faults_from_json(value["faults"])
    if value["guard"] is not None:
        with contextlib.suppress(DamagedError):
            SimulatedHost(device).start_guard(value["guard"])
    device.orchagent = orchagent_from_json(value["orchagent"], device.db)
    return device


def _document_in(path: Path) -> Any:
    """Return the content of a kept file. Raises SimulatorError."""
    try:
        return orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise SimulatorError(_unreadable(path, error)) from error


def _device_in(path: Path, clock: Clock) -> Device:
    """Return the switch of a kept file. Raises SimulatorError."""
    document = _document_in(path)
    try:
        return device_from_json(document, clock)
    except (LookupError, TypeError, ValueError) as error:
        raise SimulatorError(_unreadable(path, error)) from error


def _unreadable(path: Path, error: Exception) -> str:
    return f"{path} cannot be read ({error}); `railweave sim down` removes it, and `railweave sim up` starts afresh"


class Keeper:
    """The folder of one fabric."""

    def __init__(self, folder: Path, *, keeps: bool = True) -> None:
        """Keep everything below ``folder``; without ``keeps`` the switches are in memory alone."""
        self.folder = folder
        self._keeps = keeps
        self._written: dict[str, tuple[int, ...]] = {}

    def device_file(self, name: str) -> Path:
        """Return where a switch is kept."""
        return self.folder / "devices" / f"{name}.json"

    def save_device(self, device: Device) -> None:
        """Write a switch if it changed since it was last written."""
        revision = device.revision()
        if self._keeps and self._written.get(device.name) != revision:
            write_whole(self.device_file(device.name), orjson.dumps(device_to_json(device)))
            self._written[device.name] = revision

    def load_devices(self, clock: Clock) -> list[Device]:
        """Return the kept switches, in the order in which they were added."""
        fabric = self.load_fabric()
        devices = []
        for name in fabric.get("devices", []):
            path = self.device_file(name)
            if path.exists():
                device = _device_in(path, clock)
                self._written[name] = device.revision()
                devices.append(device)
        return devices

    def save_fabric(self, network: Fabric, addresses: Mapping[str, str], port: int, name: str) -> None:
        """Write the cables, hosts and addresses."""
        value = {
            "version": 1,
            "fabric": name,
            "port": port,
            "devices": list(network.devices),
            "addresses": dict(addresses),
            "hosts": [asdict(host) for host in network.hosts.values()],
            "host_faults": {name: faults.to_json() for name, faults in network.host_faults.items()},
            "cables": [asdict(cable) for cable in network.cable_list()],
        }
        write_whole(self.folder / "fabric.json", orjson.dumps(value, option=orjson.OPT_INDENT_2))

    def load_fabric(self) -> dict[str, Any]:
        """Return what `save_fabric` wrote; empty if nothing is kept."""
        path = self.folder / "fabric.json"
        return dict(_document_in(path)) if path.exists() else {}

    def restore_surroundings(self, network: Fabric) -> None:
        """Put the kept hosts and cables into a network."""
        fabric = self.load_fabric()
        for host in fabric.get("hosts", []):
            network.hosts[host["name"]] = host_from_json(host)
        # Folders of earlier simulators do not have them.
        for name, faults in fabric.get("host_faults", {}).items():
            network.host_faults[name] = faults_from_json(faults)
        for cable in fabric.get("cables", []):
            network.plug(SimCable(**cable))
