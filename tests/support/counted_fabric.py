"""A fabric on a simulator in this process, deployed from the start, that counts what each of its switches is asked."""

import asyncio
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from railweave.api.simulator.sim import simulator_spec
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent
from railweave.sonic.delta.delta import applied
from railweave.sonic.delta.diff import diff
from railweave.sonic.document import RunningConfig, running_from
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates
from sonic_sim import server
from sonic_sim.bgp import routes
from sonic_sim.bgp.routes import pass_seconds
from sonic_sim.clock import Clock
from sonic_sim.configdb import to_json
from sonic_sim.device import CONFIG_FILE, FRR_FILE, Device
from sonic_sim.shell.run import Shell
from sonic_sim.shell.streams import Captured
from sonic_sim.simulation import Simulation

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Counted:
    """What each switch was asked since ``clear``: logins, channels (a command each) and uploads of the program."""

    asked: dict[str, Counter[str]] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)
    devices: Mapping[str, Device] = field(default_factory=dict)

    def clear(self) -> None:
        self.asked.clear()
        self.commands.clear()

    def add(self, device: str, what: str) -> None:
        self.asked.setdefault(device, Counter())[what] += 1

    def command(self, device: str, command: str) -> None:
        self.add(device, "channels")
        if " install " in command:
            self.add(device, "uploads")
        self.commands.setdefault(device, []).append(command)


@contextmanager
def deployed_fabric(folder: Path, intent: str, text: str = "") -> Iterator[Counted]:
    """Lay a project with ``intent`` out in ``folder``, its fabric simulated and deployed already, and count.

    ``text`` is the intent's, by default that of the project's own intent of this name.
    """
    (folder / "intent").mkdir()
    text = text or (ROOT / "intent" / intent).read_text()
    (folder / "intent" / intent).write_text(text)
    shutil.copytree(ROOT / "inventory", folder / "inventory")
    outcome = design(load_intent(folder / "intent" / intent), load_catalog())
    assert outcome.fabric is not None
    counted = Counted()
    with pytest.MonkeyPatch.context() as patched, _loop() as run:
        _count(patched, counted)
        simulation = Simulation(folder / ".railweave" / "sim" / outcome.fabric.name, Clock())
        patched.setattr(simulation.keeper, "save_device", lambda device: None)
        run(simulation.start())
        run(_deployed(simulation, outcome.fabric))
        counted.devices = simulation.network.devices
        yield counted
        run(simulation.stop())


def _count(patched: pytest.MonkeyPatch, counted: Counted) -> None:
    session = server.DeviceListener._session

    async def counted_session(listener: server.DeviceListener, process: "asyncssh.SSHServerProcess[str]") -> None:
        counted.command(listener.device.name, process.command or "")
        await session(listener, process)

    def logged_in(login: server._Login) -> None:
        counted.add(login._listener.device.name, "logins")

    patched.setattr(server.DeviceListener, "_session", counted_session)
    # Convergence takes as long as the machine is slow; here it is what a switch waits for.
    patched.setattr(routes, "_REST", 0.0)
    patched.setattr(server._Login, "auth_completed", logged_in)


async def _deployed(simulation: Simulation, fabric: Fabric) -> None:
    """Rack the fabric, its switches with their intended configuration in their files and running."""
    await simulation.reconcile(simulator_spec(fabric, load_catalog()))
    configurator = Configurator(fabric, find_templates())
    for switch in fabric.switches:
        wanted = configurator.device(switch)
        device = simulation.network.devices[switch.name]
        factory = RunningConfig(running_from(device.db.document()).config_db, "")
        after = applied(diff(switch.name, factory, wanted).delta, factory)
        _boot(device, after)


def _boot(device: Device, running: RunningConfig) -> None:
    now = device.clock.now()
    tables: Any = {
        table: {
            key: {name: list(v) if isinstance(v, tuple) else v for name, v in row.items()} for key, row in rows.items()
        }
        for table, rows in running.config_db.items()
    }
    device.files.write(CONFIG_FILE, to_json(tables).encode(), now=now)
    device.files.write(FRR_FILE, (running.frr or "").encode(), now=now)
    device.boot()
    device.times.management_up = device.times.frr_up = now
    device.frr.all_up()


@contextmanager
def _loop() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Give what runs a coroutine in an event loop of another thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield lambda work: asyncio.run_coroutine_threadsafe(work, loop).result(300)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(300)
        loop.close()


def typed(device: Device, line: str) -> str:
    """Return what a command line prints that somebody types on a switch as root, once routes have converged."""
    captured = Captured("")
    asyncio.run(Shell(device, "root", "/root").run_line(line, captured.streams))
    pass_seconds(device.network, 60.0)
    return captured.stdout
