"""A simulated fabric that is watched: the process of `sonic_sim` with more to ask, none of it known to the driver.

It keeps a record of every command and of every moment at which links carried less or more, makes faults strike at the
n-th command of a switch, lets time pass for confirm timers, puts the fabric back to an earlier moment, and shows what
each switch holds. Started by `rollout_bench` as ``python watched_simulator.py FOLDER``.

Requests, beside those of `sonic_sim.daemon`:

    held                          what each switch runs, would boot, and says of commits
    keep                          remember this moment
    go_back                       be as at that moment, devices and cables added since are gone
    trigger  device after fault   let ``fault`` strike after so many commands that change something or ask for it
    settle                        every command that runs has ended
    frozen                        the processes that were stopped
    pass_time                     every confirm timer has run out
    heal                          take every fault away
    write    device rows          rows that somebody else writes
    commit   device rows          rows that another client commits
    record                        what happened since the last time that somebody asked

Faults that only a trigger brings: ``write`` (rows by hand), ``commit`` (rows that another client commits), ``garbage``
and ``replay`` (in the place of an answer), ``false`` (an answer that a call was done which was not, or with ``done``
the other way round), ``lie`` (the same of a command of SONiC), and ``freeze`` (a process with all that it started).
"""

import asyncio
import contextlib
import hashlib
import itertools
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partialmethod
from pathlib import Path
from typing import Any

import orjson
from process_trees import stop

from napalm_sonic.program import new_id
from railweave_switch import main as main_of_switch
from railweave_switch.host import Done
from railweave_switch.status_report import report
from sonic_sim import server
from sonic_sim.bgp.sessions import sessions_of
from sonic_sim.clock import Clock
from sonic_sim.daemon import Daemon
from sonic_sim.device import CONFIG_FILE, FRR_FILE, Device
from sonic_sim.faults import FaultKind
from sonic_sim.kept import device_from_json, device_to_json
from sonic_sim.shell.run import SessionDroppedError, Shell
from sonic_sim.shell.run import run_command as plain_run_command
from sonic_sim.shell.streams import Streams
from sonic_sim.spec import SimCable
from sonic_sim.switch_host import SimulatedHost

plain_run_of_program = SimulatedHost.run
STATE_FILE = "/var/lib/railweave/transaction.json"

_READS = ("show ", "cat ", "sonic-db-dump", "uptime", "flock ")
_numbers = itertools.count(1)
_SETTLED = ("none", "confirmed", "reverted")
_INSTEAD = ("garbage", "replay", "false")
_BY_OTHERS = ("write", "commit", "lie", "freeze")
_FLAP_FIELDS = ("admin_status", "speed", "lanes", "fec", "autoneg")


@dataclass(slots=True)
class Trigger:
    """A fault that strikes once ``after`` further commands of its switch have run."""

    device: str
    after: int
    fault: dict[str, Any]


@dataclass(slots=True)
class Lie:
    """The next ``times`` calls of a command of SONiC succeed without being carried out, or with ``done`` fail although
    they are."""

    command: str
    done: bool = False
    times: int = 1


@dataclass(slots=True)
class Watch:
    """What has been seen: ``links`` by their ports behind which sessions are up, ``ports`` by what a link rests on."""

    record: list[dict[str, Any]] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    revisions: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    links: dict[str, list[str]] = field(default_factory=dict)
    ports: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, tuple[int, str]] = field(default_factory=dict)
    lies: dict[str, "Lie"] = field(default_factory=dict)


class WatchedDaemon(Daemon):
    """The daemon with a record."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        super().__init__(folder, clock)
        self.watch = Watch()
        self.moment: dict[str, Any] = {}
        self.running = 0
        self.frozen: list[int] = []
        self.said: dict[tuple[str, str], str] = {}
        self.watcher: asyncio.Task[None] | None = None

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        own = getattr(self, f"do_{request['verb'].replace('-', '_')}", None)
        if own is None:
            answer = await super().answer(request)
            self.look("")
            return answer
        arguments = {name: value for name, value in request.items() if name != "verb"}
        return dict(await own(**arguments) or {})

    async def do_held(self) -> dict[str, Any]:
        return {"devices": {name: held(one) for name, one in self.simulation.network.devices.items()}}

    async def do_keep(self) -> None:
        devices = self.simulation.network.devices
        self.moment = {
            "devices": {name: orjson.dumps(device_to_json(one)) for name, one in devices.items()},
            "cables": self.simulation.network.cable_list(),
            "hosts": dict(self.simulation.network.hosts),
        }

    async def do_go_back(self) -> None:
        """Every switch that was there is made anew, with no session left; those that were not are gone."""
        world, network = self.simulation, self.simulation.network
        for name in set(network.devices) - set(self.moment["devices"]):
            await world.listeners.pop(name).close()
            del network.devices[name]
            world.addresses.pop(name, None)
        for name, text in self.moment["devices"].items():
            listener = world.listeners[name]
            for task in tuple(listener.tasks):
                task.cancel()
            listener.drop_sessions()
            shut = listener.device.faults.has(FaultKind.UNREACHABLE)
            listener.device.on_effect = None
            listener.device = device_from_json(orjson.loads(text), world.clock)
            network.add_device(listener.device)
            if shut:
                await listener.open()
            listener.device.on_effect = listener._on_effect
            listener.plan_timer()
        network.hosts = dict(self.moment["hosts"])
        network.cables.clear()
        for cable in self.moment["cables"]:
            network.plug(SimCable(cable.a, cable.b))
        network._derived.clear()
        world.paths.known_hosts.unlink()  # it forgets no switch by itself
        world._write_endpoints()
        self.watch = Watch()
        self.look("")

    async def do_trigger(self, device: str, after: int, fault: dict[str, Any]) -> None:
        self.frozen = []
        self.watch.triggers.append(Trigger(device, after, fault))

    async def do_settle(self) -> None:
        while self.running:
            await asyncio.sleep(0.01)

    async def do_frozen(self) -> dict[str, Any]:
        return {"pids": self.frozen}

    async def do_pass_time(self) -> dict[str, Any]:
        passed = []
        for name, listener in self.simulation.listeners.items():
            device = listener.device
            if device.guard is None:
                continue
            state = json.loads(device.files.read(STATE_FILE))
            state["ends_s"] = device.clock.now() - 0.001
            device.files.write(STATE_FILE, json.dumps(state).encode(), mode=0o600, now=device.clock.now())
            listener.catch_up()
            passed.append(name)
        self.look("", timers=passed)
        return {"passed": passed}

    async def do_heal(self) -> None:
        self.watch.triggers.clear()
        self.watch.lies.clear()
        for name, device in self.simulation.network.devices.items():
            if device.faults.armed:
                await self.simulation.clear_fault(name, None)
        self.look("", healed=True)

    async def do_write(self, device: str, rows: dict[str, dict[str, str]]) -> None:
        self.write(device, rows)

    async def do_commit(self, device: str, rows: dict[str, dict[str, str]]) -> None:
        self.commit(self.simulation.network.devices[device], rows)

    async def do_record(self) -> dict[str, Any]:
        record, self.watch.record = self.watch.record, []
        return {"record": record}

    def write(self, device: str, rows: dict[str, dict[str, str]]) -> None:
        """Do as some other hand on the switch does: at once, and saved."""
        switch = self.simulation.network.devices[device]
        saved = json.loads(switch.files.read(CONFIG_FILE))
        for place, fields in rows.items():
            switch.db.put(place, fields)
            table, _, key = place.partition("|")
            saved.setdefault(table, {})[key] = fields
        switch.files.write(CONFIG_FILE, json.dumps(saved).encode(), now=time.time())
        self.tell(device=device, foreign=sorted(rows))

    def commit(self, device: Device, rows: dict[str, dict[str, str]]) -> None:
        """Do as another client of the switch's program does: commit and confirm, where nothing waits."""
        host, name = SimulatedHost(device), new_id()
        if report(host)["status"] not in _SETTLED:
            return
        part: dict[str, dict[str, Any]] = {}
        for place, fields in rows.items():
            table, _, key = place.partition("|")
            part.setdefault(table, {})[key] = fields
        asked = {
            "version": 1, "id": name, "kind": "commit", "by": "somebody@else", "message": "between", "before": {},
            "last": report(host)["id"], "after": part, "deadline_s": 60,
            "steps": [{"kind": "load", "document": part}], "rollback": {"steps": [], "rows": {}, "undo": None},
        }  # fmt: skip
        data = json.dumps(asked).encode()
        words = ["apply", "--length", str(len(data)), "--sha256", hashlib.sha256(data).hexdigest()]
        main_of_switch.run(host, words, lambda: data)
        _, told = main_of_switch.run(host, ["confirm", "--id", name], bytes)
        if json.loads(told)["outcome"] == "confirmed":
            self.tell(device=device.name, committed=rows)

    def tell(self, **what: Any) -> None:
        self.watch.record.append({"at": time.monotonic(), **what})

    async def run_command(self, shell: Shell, line: str, streams: Streams) -> int:
        """Run a command as the simulator does, and note it."""
        name = shell.device.name
        garbage = await self.pull_triggers(shell.device, line)
        carried_out = not (garbage and _is_of_nothing(garbage))
        if garbage is not None:
            streams = Streams(streams.stdin, _said_instead(streams, garbage), streams.err, terminal=streams.terminal)
        elif verb := _verb(line):
            streams = Streams(streams.stdin, self._kept(streams, (name, verb)), streams.err, terminal=streams.terminal)
        number, before = next(_numbers), config_revision(shell.device)
        self.tell(device=name, begins=line, number=number)
        ended: int | str = "cut"
        self.running += 1
        try:
            if carried_out:
                ended = await plain_run_command(shell, line, streams)
            else:
                streams.out(garbage or "")
                ended = 0
        except SessionDroppedError:
            ended = "dropped"
            raise
        finally:
            self.running -= 1
            # A commit that it armed is seen before its end, so that its switch is at work without a gap.
            self.look(name)
            changed = config_revision(shell.device) != before
            self.tell(device=name, ends=line, number=number, status=ended, changed=changed)
        return ended

    def _kept(self, streams: Streams, place: tuple[str, str]) -> Callable[[str], None]:
        """Return what prints an answer and keeps it, as the last one of its verb."""

        def out(text: str) -> None:
            self.said[place] = text
            streams.out(text)

        return out

    async def pull_triggers(self, device: Device, line: str) -> str | None:
        """Let what is due strike; return what the command is to print in the place of its own, None for its own."""
        instead, name = None, device.name
        for trigger in [one for one in self.watch.triggers if one.device == name]:
            trigger.after -= 1
            if trigger.after > 0:
                continue
            self.watch.triggers.remove(trigger)
            details = dict(trigger.fault)
            kind = details.pop("kind")
            if kind in _INSTEAD:
                instead = self.said_instead(device, line, kind, details)
                if instead is None and kind == "false":
                    self.watch.triggers.append(trigger)  # until a call comes of which it can be said
            elif kind in _BY_OTHERS:
                self.do_by_others(device, kind, details)
            else:
                self.tell(device=name, fault=kind)
                await self.simulation.fault(name, kind, details)
                self.look("")
                if kind == FaultKind.UNREACHABLE:
                    raise SessionDroppedError
        return instead

    def said_instead(self, device: Device, line: str, kind: str, details: dict[str, Any]) -> str | None:
        """Return what a command prints in the place of its own answer."""
        if kind == "garbage":
            return str(details["text"])
        if kind == "replay":
            return self.said.get((device.name, _verb(line)))
        return _false_answer(device, line, done=bool(details["done"]))

    def do_by_others(self, device: Device, kind: str, details: dict[str, Any]) -> None:
        """Do what no command of the switch does by itself."""
        if kind == "write":
            self.write(device.name, details["rows"])
        elif kind == "commit":
            self.commit(device, details["rows"])
        elif kind == "lie":
            self.watch.lies[device.name] = Lie(**details)
        else:
            self.frozen = stop(int(details["pid"]))

    def run_of_program(self, host: SimulatedHost, words: Sequence[str], timeout_s: float, stdin: str = "") -> Done:
        """Run a command for the switch's program as the simulator does, unless it is to be lied about."""
        lie = self.watch.lies.get(host.device.name)
        if lie is None or not lie.times or not " ".join(words).startswith(lie.command):
            return plain_run_of_program(host, words, timeout_s, stdin)
        lie.times -= 1
        if not lie.done:
            return Done(0, "", "")
        plain_run_of_program(host, words, timeout_s, stdin)
        return Done(1, "", "Error: the answer was lost\n")

    def look(self, by: str, **more: Any) -> None:
        """Note which sessions went or came, and which ports were set so that a link flaps."""
        watch, devices = self.watch, self.simulation.network.devices
        commits = {name: self.commit_status(one) for name, one in devices.items()}
        revisions = {name: (one.db.version, one.frr.version, one.faults.version) for name, one in devices.items()}
        if (revisions, commits) == (watch.revisions, watch.commits) and not more:
            return
        changed = [name for name, revision in revisions.items() if watch.revisions.get(name) != revision]
        watch.revisions = revisions
        flaps = [f"{name}:{port}" for name in changed for port in self.flapped(devices[name])]
        links = {name: sorted(up_ports(one)) for name, one in devices.items()}
        if (links, commits) != (watch.links, watch.commits) or flaps or more:
            watch.links, watch.commits = links, commits
            self.tell(device=by, up=links, flaps=flaps, commits=commits, **more)

    def commit_status(self, device: Device) -> str:
        """Return what the switch says of its last commit, ``none`` where it had none."""
        version, status = self.watch.statuses.get(device.name, (-1, ""))
        if version != device.files.version:
            status = commit_status(device)
            self.watch.statuses[device.name] = (device.files.version, status)
        return status

    def flapped(self, device: Device) -> list[str]:
        now = {port: tuple(row.get(name, "") for name in _FLAP_FIELDS) for port, row in device.db.table("PORT").items()}
        before, self.watch.ports[device.name] = self.watch.ports.get(device.name, now), now
        return [port for port in now if port in before and before[port] != now[port]]


def _verb(line: str) -> str:
    """Return the verb of a call of the switch's program, empty where a line is none."""
    _, called, words = line.partition("/usr/local/bin/railweave-switch ")
    return words.split()[0] if called and words else ""


_ENDS = {"confirm": "confirmed", "revert": "reverted"}
"""How calls that name a transaction end well."""
_OF_NOTHING = "said of what was not done"


def _false_answer(device: Device, line: str, *, done: bool) -> str | None:
    """Return that a call was done, which is not carried out, or with ``done`` that it was refused, which is; None for a
    call of which that cannot be said."""
    verb, words, status = _verb(line), line.split(), report(SimulatedHost(device))
    if done:
        if verb not in ("apply", *_ENDS):
            return None
        return json.dumps({"version": 1, "outcome": "refused", "error": "refused", "status": status}) + "\n"
    if verb not in _ENDS or "--id" not in words:
        return None
    status = {**status, "id": words[words.index("--id") + 1], "status": _ENDS[verb], "reason": _OF_NOTHING}
    return json.dumps({"version": 1, "outcome": _ENDS[verb], "error": "", "status": status}) + "\n"


def _is_of_nothing(answer: str) -> bool:
    return _OF_NOTHING in answer


def _said_instead(streams: Streams, garbage: str) -> Callable[[str], None]:
    said = [garbage]

    def out(text: str) -> None:
        if said:
            streams.out(said.pop())

    return out


def config_revision(device: Device) -> tuple[int, int]:
    """Return a value that is another one once anything that the switch runs has changed."""
    return device.db.version, device.frr.version


def up_ports(device: Device) -> list[str]:
    """Return the ports behind which a session is up."""
    return [one.port for one in sessions_of(device).values() if one.established]


def commit_status(device: Device) -> str:
    """Return what the switch says of its last commit, ``none`` where it had none."""
    try:
        return str(json.loads(device.files.read(STATE_FILE))["status"])
    except (FileNotFoundError, ValueError, KeyError):
        return "none"


def held(device: Device) -> dict[str, Any]:
    """Return what a switch runs and would boot, and the state of its last commit; straight from its memory."""

    def file(path: str) -> Any:
        with contextlib.suppress(FileNotFoundError, ValueError):
            text = device.files.read(path).decode()
            return json.loads(text) if path.endswith(".json") else text
        return None

    return {
        "rows": device.db.document(),
        "frr": device.frr.show() if device.frr.running else None,
        "frr_to_save": device.frr.text() if device.frr.running else None,
        "boots": {"rows": file(CONFIG_FILE), "frr": file(FRR_FILE)},
        "commit": file(STATE_FILE),
        "timer": device.guard is not None,
        "faults": [one["kind"] for one in device.faults.to_json()],
    }


def _run_watched(
    host: SimulatedHost, daemon: WatchedDaemon, words: Sequence[str], timeout_s: float, stdin: str = ""
) -> Done:
    return daemon.run_of_program(host, words, timeout_s, stdin)


def main() -> int:
    """Run the watched fabric of the folder on the command line until somebody ends it."""

    async def whole() -> None:
        daemon = WatchedDaemon(Path(sys.argv[1]), Clock())
        server.__dict__["run_command"] = daemon.run_command
        SimulatedHost.run = partialmethod(_run_watched, daemon)  # type: ignore[assignment, method-assign]
        # The pipe ends with the tests, also when they are killed; nothing is ever written to it.
        asyncio.get_running_loop().add_reader(sys.stdin, daemon.ended.set)
        await daemon.run()

    asyncio.run(whole())
    return 0


if __name__ == "__main__":
    sys.exit(main())
