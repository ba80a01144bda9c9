"""A running simulated fabric: its network, its listeners and its folder."""

import asyncio
import json
import re
import resource
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sonic_sim.addresses import device_address, free_port, is_free
from sonic_sim.clock import Clock
from sonic_sim.device import Device, Fabric
from sonic_sim.errors import SimulatorError
from sonic_sim.faults import AT_ONCE, OF_A_NIC, OF_A_NODE, OF_A_PORT, OF_A_SWITCH, FaultKind, Faults
from sonic_sim.flows.service import FlowService, LiveNics
from sonic_sim.kept import Keeper, write_whole
from sonic_sim.line_editor import use_frugal_line_editor
from sonic_sim.network import end_of
from sonic_sim.nodes.cluster import Cluster
from sonic_sim.nodes.login import NodeListener
from sonic_sim.server import DeviceListener
from sonic_sim.sftp import USER
from sonic_sim.spec import ConfigDbDocument, SimCable, SimDevice, SimHost, SimSpec, SimState
from sonic_sim.ssh import asyncssh
from sonic_sim.switch_host import take_over_transactions
from sonic_sim.watching import Watch

_LISTENS_AT_ONCE = 50
# A critical process that exits ends the bgp container, which systemd starts again after 30 s (RestartSec).
_CONTAINER_RESTARTS_S = 40
_OF_LIGHT = frozenset({FaultKind.DIRTY_FIBER, FaultKind.DYING_LASER})
_RESTARTS_LISTENER = frozenset({FaultKind.UNREACHABLE, FaultKind.WRONG_HOST_KEY})


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of a state folder."""

    folder: Path

    @property
    def endpoints(self) -> Path:
        """How to reach the switches."""
        return self.folder / "endpoints.json"

    @property
    def client_key(self) -> Path:
        """The private key that every switch accepts."""
        return self.folder / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """The host keys of the switches."""
        return self.folder / "known_hosts"

    def host_key(self, name: str) -> Path:
        """Return where a switch's host key is."""
        return self.folder / "host_keys" / name


class Simulation:
    """Everything of one fabric. All methods run in one event loop."""

    def __init__(self, folder: Path, clock: Clock, *, keeps: bool = True) -> None:
        """Prepare; nothing listens yet. One that ``keeps`` nothing writes no switch to the disk."""
        use_frugal_line_editor()
        self.paths = Paths(folder)
        self.clock = clock
        self.keeper = Keeper(folder, keeps=keeps)
        self.network = Fabric()
        self.watch = Watch(self.network)
        self.listeners: dict[str, DeviceListener] = {}
        nics = LiveNics(lambda: self.cluster.nodes, lambda name: self.cluster.nodes[name].current_nics())
        self.flows = FlowService(self.network, clock, nics, lambda name: self.cluster.nodes[name].publish())
        self.cluster = Cluster(folder / "nodes", self.flows.tools.answer_tool)
        self.cluster.count = self.flows.model.publish
        self.addresses: dict[str, str] = {}
        self.fabric = ""
        self.port = 0

    async def start(self) -> None:
        """Restore the fabric that the folder keeps."""
        _raise_file_limit()
        saved = self.keeper.load_fabric()
        self.fabric = saved.get("fabric", "")
        self.port = saved.get("port", 0)
        self.addresses = dict(saved.get("addresses", {}))
        for device in self.keeper.load_devices(self.clock):
            self.network.add_device(device)
        self.keeper.restore_surroundings(self.network)
        if self.network.devices:
            await self._listen(list(self.network.devices.values()))
            await self._start_nodes()
            self._write_endpoints()

    async def stop(self) -> None:
        """Save changed switches and close all listeners."""
        for listener in self.listeners.values():
            self.keeper.save_device(listener.device)
        await asyncio.gather(*(listener.close() for listener in self.listeners.values()))
        await self.flows.stop()
        await self.cluster.stop()

    async def reconcile(self, spec: SimSpec) -> dict[str, Any]:
        """Add the devices, hosts and cables of a specification that are not there yet; reset nothing.

        Returns ``{"added": [names], "unplugged": [[a, b]…], "without_nodes": text}``: cables of the specification that
        are not plugged because a port is taken, and which nodes with NICs do not run, and why. Raises SimulatorError
        when an existing device would have to be another model.
        """
        self._refuse_other_models(spec)
        self.fabric = self.fabric or spec.fabric
        new_specs = [device for device in spec.devices if device.name not in self.network.devices]
        self._insert_modules(spec)
        new_devices = [self._new_device(device, spec.states.get(device.name)) for device in new_specs]
        for host in spec.hosts:
            self._add_host(host)
        unplugged = self._plug_new(spec.cables)
        if not self.port:
            self.port = self._choose_port()
        self.save_fabric()
        for device in new_devices:
            self.keeper.save_device(device)
        await self._listen(new_devices)
        await self._start_nodes()
        self._write_endpoints()
        names = [device.name for device in new_devices]
        return {"added": names, "unplugged": unplugged, "without_nodes": self.cluster.problem}

    def _add_host(self, host: SimHost) -> None:
        """Add a node, or describe one anew; one that was switched off stays off."""
        last = self.network.hosts.get(host.name, host)
        self.network.hosts[host.name] = replace(host, powered=last.powered)
        if host.nics:
            self._give_address(host.name)

    def _insert_modules(self, spec: SimSpec) -> None:
        """Insert modules into the empty cages of switches that are there already."""
        for new_spec in spec.devices:
            device = self.network.devices.get(new_spec.name)
            if device is not None and new_spec.modules.keys() - device.spec.modules.keys():
                modules = {**new_spec.modules, **device.spec.modules}
                device.spec = replace(device.spec, modules=modules)
                device.db.version += 1
                self.keeper.save_device(device)

    def _plug_new(self, cables: Sequence[SimCable]) -> list[list[str]]:
        """Plug the cables that are not plugged yet and whose ports are free.

        Return the ends of the cables that are not plugged because a port is taken.
        """
        unplugged = []
        for cable in cables:
            a = end_of(cable.a)
            b = end_of(cable.b)
            if self.network.cables.get(a) == b:
                continue
            if a in self.network.cables or b in self.network.cables:
                unplugged.append([cable.a, cable.b])
            else:
                self.network.plug(cable)
        return unplugged

    def _refuse_other_models(self, spec: SimSpec) -> None:
        """Raise SimulatorError if a device that is there has other hardware in ``spec``."""
        for new_spec in spec.devices:
            device = self.network.devices.get(new_spec.name)
            if device is None:
                continue
            if (device.spec.hwsku, device.spec.lanes()) != (new_spec.hwsku, new_spec.lanes()):
                raise SimulatorError(
                    f"{new_spec.name} is simulated as {device.spec.hwsku} and cannot become {new_spec.hwsku} while it "
                    "runs; `sim down` removes the simulated fabric, then it can be brought up anew"
                )

    def _new_device(self, spec: SimDevice, state: SimState | None = None) -> Device:
        """Return a new switch, which is in the fabric: as the factory leaves it, or in a recorded ``state``."""
        device = Device(spec, self.clock)
        device.install()
        if state is not None:
            device.take_over(state)
            take_over_transactions(device, state)
        self.network.add_device(device)
        self._give_address(spec.name)
        return device

    def _give_address(self, name: str) -> None:
        if name not in self.addresses:
            self.addresses[name] = device_address(self.fabric, len(self.addresses))

    async def replace(self, name: str) -> dict[str, str]:
        """Put another switch of the same model in the place of one: its serial number, MAC address and host key are
        new, it boots with the factory configuration, and the cables are in the same ports.

        Returns its ``serial`` and ``mac``. The host key that ``known_hosts`` holds stays the old one, as on any machine
        that reached the old switch. Raises SimulatorError.
        """
        old = self.device(name)
        mac = _another_mac(old.spec.mac)
        spec = replace(old.spec, factory=_with_mac(old.spec.factory, mac), serial=secrets.token_hex(6).upper(), mac=mac)
        await self.listeners[name].close()
        self.paths.host_key(name).unlink(missing_ok=True)
        device = self._new_device(spec)
        self.keeper.save_device(device)
        await self._listen([device])
        return {"serial": spec.serial, "mac": spec.mac}

    def _choose_port(self) -> int:
        """Return a TCP port that is free on the addresses of all devices. Raises SimulatorError."""
        addresses = list(self.addresses.values())
        # A port that is free on the first address may be taken on another one.
        for _ in range(20):
            port = free_port(addresses[0])
            if all(is_free(address, port) for address in addresses):
                return port
        raise SimulatorError("no TCP port is free on all loopback addresses of the fabric")

    async def _listen(self, devices: list[Device]) -> None:
        """Make the listeners of switches and open them, ``_LISTENS_AT_ONCE`` at a time."""
        client_key = self._key(self.paths.client_key)
        for start in range(0, len(devices), _LISTENS_AT_ONCE):
            batch = []
            for device in devices[start : start + _LISTENS_AT_ONCE]:
                key = self._key(self.paths.host_key(device.name))
                address = self.addresses[device.name]
                listener = DeviceListener(
                    device=device,
                    address=address,
                    port=self.port,
                    key=key,
                    client_key=client_key,
                    changed=self._changed,
                )
                self.listeners[device.name] = listener
                batch.append(listener)
            await asyncio.gather(*(listener.open() for listener in batch))

    async def _start_nodes(self) -> None:
        """Start the nodes that have NICs and do not run."""
        client_key = self._key(self.paths.client_key)

        def listener(name: str) -> NodeListener:
            return NodeListener(self.addresses[name], self.port, self._key(self.paths.host_key(name)), client_key)

        await self.cluster.reconcile(self.network.hosts.values(), listener)
        self.network.invents_traffic = not self.cluster.nodes
        self.flows.start()

    def _changed(self, device: Device) -> None:
        """Save a switch after a command, and record what it changed."""
        self.keeper.save_device(device)
        self.watch.look(device)
        self.flows.model.flaps.follow(device)

    def _key(self, path: Path) -> asyncssh.SSHKey:
        if path.exists():
            return asyncssh.import_private_key(path.read_bytes())
        key = asyncssh.generate_private_key("ssh-ed25519", comment=f"simulated {self.fabric}")
        write_whole(path, key.export_private_key())
        return key

    def _write_endpoints(self) -> None:
        self._add_known_hosts()
        write_whole(self.paths.endpoints, json.dumps(self.endpoints(), indent=1).encode())

    def _add_known_hosts(self) -> None:
        """Add the host keys of new switches and nodes; a key that changed is for `railweave trust` to find."""
        path = self.paths.known_hosts
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        known_hosts = {line.split(maxsplit=1)[0] for line in text.splitlines() if line.strip()}
        host_keys = {name: listener.key for name, listener in self.listeners.items()}
        host_keys |= {name: node.listener.key for name, node in self.cluster.nodes.items()}
        for name, host_key in host_keys.items():
            host = f"[{self.addresses[name]}]:{self.port}"
            if host not in known_hosts:
                # The third word is a comment.
                algorithm, key = host_key.export_public_key().decode().split()[:2]
                text += f"{host} {algorithm} {key}\n"
        write_whole(path, text.encode())

    def endpoints(self) -> dict[str, Any]:
        """Return the content of ``endpoints.json``."""
        import os

        return {
            "devices": {name: {"address": self.addresses[name], "port": self.port} for name in self.listeners},
            "nodes": {name: {"address": self.addresses[name], "port": self.port} for name in self.cluster.nodes},
            "username": USER,
            "key_file": str(self.paths.client_key),
            "known_hosts": str(self.paths.known_hosts),
            "pid": os.getpid(),
            # Seconds of this machine in which a second of a test on the nodes passes.
            "pace": self.flows.model.real_s(1.0),
        }

    def save_fabric(self) -> None:
        """Write cables, hosts and addresses."""
        self.keeper.save_fabric(self.network, self.addresses, self.port, self.fabric)

    def device(self, name: str) -> Device:
        """Return a switch by name. Raises SimulatorError."""
        try:
            return self.network.devices[name]
        except KeyError:
            raise SimulatorError(f"no device {name}; there are: {', '.join(self.network.devices)}") from None

    async def fault(self, name: str, kind: str, details: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Let a switch or a node have a fault; return all that it has. Raises SimulatorError."""
        if name in self.network.hosts:
            return await self._fault_node(name, kind, details)
        device = self.device(name)
        self._check_switch_fault(device, kind, details)
        if kind == FaultKind.DAEMON_DIES:
            device.start_frr(_CONTAINER_RESTARTS_S)
        elif kind in AT_ONCE:
            device.lose_power(
                with_configuration=kind == FaultKind.LOSE_CONFIG, unanswered=int(details.get("unanswered", 0))
            )
        else:
            _arm(device.faults, kind, {"since": device.clock.now(), **details})
        if kind in _RESTARTS_LISTENER:
            await self.listeners[name].open()
        self._changed(device)
        return device.faults.to_json()

    def _check_switch_fault(self, device: Device, kind: str, details: Mapping[str, Any]) -> None:
        """Raise SimulatorError for a fault that a switch cannot have, or not at this port."""
        if kind in OF_A_NODE and kind not in OF_A_PORT:
            raise SimulatorError(f"{kind} is a fault of a node; {device.name} is a switch")
        if details.get("nic") is not None:
            raise SimulatorError(f"{device.name} is a switch: name a port in place of a NIC")
        port = details.get("port")
        if port:
            if kind in OF_A_SWITCH:
                raise SimulatorError(f"{kind} is a fault of the whole switch: omit the port")
            self._check_port(device, str(port))
            _check_medium(device, kind, str(port))
        daemon = details.get("daemon")
        if daemon and daemon not in device.frr.daemons:
            names = ", ".join(device.frr.daemons)
            raise SimulatorError(f"{device.name} has no daemon {daemon}; there are: {names}")

    async def _fault_node(self, name: str, kind: str, details: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Let a node have a fault; return all that it has. Raises SimulatorError."""
        faults = self.network.host_faults.setdefault(name, Faults())
        if kind == FaultKind.POWER_CYCLE and name in self.cluster.nodes:
            await self.cluster.reboot(name)
            return faults.to_json()
        if kind not in OF_A_NODE:
            kinds = ", ".join(sorted({*OF_A_NODE, FaultKind.POWER_CYCLE}))
            raise SimulatorError(f"no fault '{kind}' of a node; there are: {kinds}; clear ends them")
        if details.get("port"):
            raise SimulatorError(f"{name} is a node: name a NIC by its number in place of a port")
        if details.get("nic") is not None:
            if kind not in OF_A_NIC:
                raise SimulatorError(f"{kind} is a fault of the whole node: omit the NIC")
            self._check_nic(name, int(details["nic"]))
        _arm(faults, kind, {"since": self.clock.now(), **details})
        self.flows.model.advance()
        self.save_fabric()
        return faults.to_json()

    async def clear_fault(self, name: str, kind: str | None) -> int:
        """Clear the faults of a switch or a node, of one kind or all; return how many. Raises SimulatorError."""
        if kind is not None and kind not in list(FaultKind):
            raise SimulatorError(f"no fault '{kind}'; there are: {', '.join(FaultKind)}")
        if name in self.network.hosts:
            # Counters grow with the fault until now, and without it from now on.
            self.flows.model.advance()
            count = self.network.host_faults.setdefault(name, Faults()).clear(kind)
            self.flows.model.advance()
            self.save_fabric()
            return count
        device = self.device(name)
        count = device.faults.clear(kind)
        if kind is None or kind in _RESTARTS_LISTENER:
            await self.listeners[name].open()
        self._changed(device)
        return count

    def pass_time(self, seconds: float) -> None:
        """Let time pass on all switches; timers that run out strike. Raises SimulatorError if time would go back."""
        try:
            self.clock.advance(seconds)
        except ValueError as error:
            raise SimulatorError(str(error)) from error
        for listener in self.listeners.values():
            listener.catch_up()

    def plug(self, a: str, b: str) -> None:
        """Move a cable. Raises SimulatorError for ends that do not exist."""
        self._check_end(a)
        self._check_end(b)
        self.network.plug(SimCable(a, b))
        self.save_fabric()

    def rewire(self, out: Sequence[SimCable], moved: Sequence[SimCable], new: Sequence[SimCable]) -> dict[str, int]:
        """Take the cables ``out``, move others to their ends in ``moved``, and plug those of ``new`` with free ports.

        Returns how many cables were ``moved`` or taken out, and how many were ``added``; a cable that is in place
        already counts as neither. Raises SimulatorError, with no cable moved, for ends that do not exist.
        """
        for cable in moved:
            self._check_end(cable.a)
            self._check_end(cable.b)
        moved_count = 0
        # A cable leaves its ports before another one comes.
        for cable in out:
            end = end_of(cable.a)
            if self.network.cables.get(end) == end_of(cable.b):
                self.network.unplug(end)
                moved_count += 1
        for cable in moved:
            if self.network.cables.get(end_of(cable.a)) != end_of(cable.b):
                self.network.plug(cable)
                moved_count += 1
        ends_before = len(self.network.cables)
        self._plug_new(new)
        self.save_fabric()
        # The network holds each cable by both of its ends.
        return {"moved": moved_count, "added": (len(self.network.cables) - ends_before) // 2}

    def _check_end(self, text: str) -> None:
        """Raise SimulatorError for the end of a cable that does not exist."""
        try:
            end = end_of(text)
        except ValueError as error:
            raise SimulatorError(str(error)) from error
        if end.node not in self.network.devices and end.node not in self.network.hosts:
            nodes = ", ".join((*self.network.devices, *self.network.hosts))
            raise SimulatorError(f"no device or host {end.node}; there are: {nodes}")
        device = self.network.devices.get(end.node)
        if device is not None:
            self._check_port(device, end.port)

    def _check_port(self, device: Device, port: str) -> None:
        """Raise SimulatorError for a port that a switch does not have."""
        ports = self.network.ports(device)
        if port not in ports:
            raise SimulatorError(f"{device.name} has no port {port}; it has {', '.join(ports)}")

    def _check_nic(self, name: str, number: int) -> None:
        """Raise SimulatorError for a NIC that a node does not have."""
        numbers = set()
        for end in self.network.cables:
            # The ports of a NIC are named by its number.
            digits = re.search(r"\d+", end.port)
            if end.node == name and digits:
                numbers.add(int(digits[0]))
        if number not in numbers:
            raise SimulatorError(f"{name} has no NIC {number}; it has {', '.join(map(str, sorted(numbers)))}")

    async def power(self, names: Sequence[str], *, powered: bool) -> None:
        """Switch GPU nodes on or off; the links of one that is off are down.

        Raises SimulatorError, with none switched, if a node does not exist.
        """
        unknown = [name for name in names if name not in self.network.hosts]
        if unknown:
            raise SimulatorError(f"no GPU node {', '.join(unknown)}; there are: {', '.join(self.network.hosts)}")
        for name in names:
            self.network.hosts[name] = replace(self.network.hosts[name], powered=powered)
        self.network.version += 1
        self.save_fabric()
        for name in names:
            await self.cluster.power(name, on=powered)

    def _node_status(self) -> dict[str, dict[str, Any]]:
        """Return the nodes that are machines, with their addresses."""
        return {
            name: {"address": self.addresses[name], "port": self.port, "powered": self.network.hosts[name].powered}
            for name in self.cluster.nodes
        }

    def status(self) -> dict[str, Any]:
        """Return the switches and nodes with their addresses and faults, and the cables."""
        devices = {
            name: {
                "address": self.addresses[name],
                "port": self.port,
                "hostname": device.hostname,
                "hwsku": device.spec.hwsku,
                "faults": device.faults.to_json(),
            }
            for name, device in self.network.devices.items()
        }
        return {
            "fabric": self.fabric,
            "running": True,
            "time_scale": self.clock.scale,
            "devices": devices,
            "nodes": self._node_status(),
            "node_faults": {
                name: faults.to_json() for name, faults in self.network.host_faults.items() if faults.armed
            },
            "cables": [asdict(cable) for cable in self.network.cable_list()],
        }


def _check_medium(device: Device, kind: str, port: str) -> None:
    """Raise SimulatorError for a fault of light in a copper cable, or of copper in a fiber."""
    module = device.spec.modules.get(port)
    if module is None:
        return
    if kind in _OF_LIGHT and module.copper:
        raise SimulatorError(f"{device.name} {port} has a copper cable ({module.name}): {kind} is a fault of optics")
    if kind == FaultKind.BAD_COPPER and not module.copper:
        raise SimulatorError(f"{device.name} {port} has optics ({module.name}): {kind} is a fault of copper cables")


def _arm(faults: Faults, kind: str, details: Mapping[str, Any]) -> None:
    """Arm a fault. Raises SimulatorError for an unknown kind or detail."""
    try:
        faults.add(kind, **details)
    except ValueError as error:
        raise SimulatorError(str(error)) from error


def _another_mac(mac: str) -> str:
    """Return a random MAC address with the same first octet, which says that it is locally administered."""
    return ":".join((mac.split(":", 1)[0], *(f"{byte:02x}" for byte in secrets.token_bytes(5))))


def _with_mac(factory: ConfigDbDocument, mac: str) -> ConfigDbDocument:
    """Return the factory configuration of another switch of the model, which has its own MAC address."""
    metadata = factory.get("DEVICE_METADATA", {})
    localhost = {**metadata.get("localhost", {}), "mac": mac}
    return {**factory, "DEVICE_METADATA": {**metadata, "localhost": localhost}}


def remove_state(folder: Path) -> None:
    """Remove all that a fabric kept, but nothing else that is in its folder."""
    for name in ("devices", "host_keys", "nodes"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in (
        "fabric.json",
        "endpoints.json",
        "id_ed25519",
        "known_hosts",
        "process.json",
        "simulator.log",
        "spec.json",
    ):
        (folder / name).unlink(missing_ok=True)


def _raise_file_limit() -> None:
    """Allow as many open files as the system permits: each switch has a listener and some sessions."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = 65536
    if hard != resource.RLIM_INFINITY:
        limit = min(hard, limit)
    if soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
