"""A commit by the driver on a switch in memory, by a script of what happens at each contact: fuzzed, and judged.

A script is a list of ``{"at": N, "do": KIND}``: before the N-th call of the switch's program the runner sleeps, another
client commits, or a daemon of FRR goes away; or the answer is lost, one of before, or another one. What a fuzzer makes
of it that says nothing is left out.
"""

import contextlib
import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from frozen_runners import FleetWorld, new_switch
from napalm.base.exceptions import ConnectionClosedException, NapalmException
from switch_cases import SUCCESSOR
from virtual_switch import World

from napalm_sonic import driver as driver_module
from napalm_sonic.calling import PROGRAM
from napalm_sonic.session import Completed, Session
from railweave.sonic.document import DocumentError
from railweave_switch import main
from railweave_switch.rows import unmet

REVERT_IN_S = 60
MOST_S = 5000.0
ENDED = ("none", "confirmed", "reverted")
WISHED: dict[str, Any] = {"PORT": {"Ethernet0": {"mtu": "9000"}}, "bgpraw": "router bgp 65001\n timers bgp 1 9\n"}
EARLIER: dict[str, Any] = {"PORT": {"Ethernet0": {"mtu": "9050"}}}
"""What the runner has committed before, so that there are answers to be replayed."""
LINE = ("router bgp 65001", "timers bgp 1 9")
FOREIGN: dict[str, Any] = {"PORT": {"Ethernet4": {"description": "another client's"}}}
DAEMONS = ("bgpd", "staticd", "zebra", "mgmtd")

SCRIPTS: tuple[tuple[Mapping[str, Any], ...], ...] = (
    (),
    ({"at": 4, "do": "sleep", "seconds": 100.0}, {"at": 4, "do": "commit"}),
    ({"at": 5, "do": "sleep", "seconds": 100.0}, {"at": 5, "do": "commit"}, {"at": 6, "do": "replay"}),
    ({"at": 3, "do": "replay"}, {"at": 4, "do": "lose"}),
    ({"at": 5, "do": "lose"}, {"at": 6, "do": "sleep", "seconds": 70.0}),
    ({"at": 1, "do": "away", "daemon": "bgpd", "seconds": 20.0}, {"at": 4, "do": "away", "daemon": "bgpd"}),
    ({"at": 5, "do": "away", "daemon": "bgpd", "seconds": 40.0},),
    ({"at": 3, "do": "say", "answer": {"version": 1, "outcome": "applied", "status": {"status": "armed"}}},),
    ({"at": 5, "do": "edit", "answer": {"outcome": "refused", "code": "moved", "error": "no"}},),
    ({"at": 2, "do": "commit"}, {"at": 5, "do": "replay"}),
)  # fmt: skip
"""A commit takes five calls: two that read, then one that applies, asks and confirms."""


@dataclass(frozen=True, slots=True)
class WorldClock:
    """The clock of a switch: whoever waits by it lets the switch go on."""

    world: World

    def monotonic(self) -> float:
        return self.world.now

    def sleep(self, seconds: float) -> None:
        self.world.advance(seconds)


@dataclass
class ScriptedSession(Session):
    """A session to a switch in memory; ``lied`` tells whether it gave another answer than the switch's, or none."""

    world: FleetWorld = field(kw_only=True)
    script: list[Mapping[str, Any]] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    contacts: int = 0
    lied: bool = False
    committed: bool = False

    def open(self) -> None:
        self.world.advance(0.1)

    def close(self) -> None:
        pass

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        plain = command.removeprefix("sudo -n ")
        if not plain.startswith(PROGRAM):
            return Completed(command, 127, "", "command not found")
        words = shlex.split(plain)[1:]
        if "--expect" in words:
            place = words.index("--expect")
            words = [*words[:place], *words[place + 2 :]]
        self.contacts += 1
        events = [one for one in self.script if one.get("at") == self.contacts]
        for event in events:
            self._happen(event)
        host = self.world.start("foreground")
        status, told = main.run(host, words, lambda: data)
        host.process.alive = False
        for event in events:
            told = self._instead(event, words[0], told)
        self.said.setdefault(words[0], told)
        return Completed(command, status, told, "")

    def _happen(self, event: Mapping[str, Any]) -> None:
        """Let the switch go on, or have what the script says, before a call."""
        kind, seconds, daemon = event.get("do"), _seconds(event), event.get("daemon")
        if kind == "sleep":
            self.world.advance(seconds)
        elif kind == "commit":
            self.committed = commit_by_another(self.world) or self.committed
        elif kind == "away" and daemon in DAEMONS:
            self.world.stop_daemon(str(daemon), seconds)
        elif kind == "late" and daemon in DAEMONS:
            self.world.late[str(daemon)] = seconds

    def _instead(self, event: Mapping[str, Any], verb: str, told: str) -> str:
        """Return what of an answer arrives."""
        kind, answer = event.get("do"), event.get("answer")
        if kind == "lose":
            raise ConnectionClosedException(f"{self.hostname}: the session was lost")
        if kind == "replay":
            return self.said.get(verb, told)
        if kind == "say":
            self.lied = True
            return json.dumps(answer)
        if kind == "edit" and isinstance(answer, Mapping):
            self.lied = True
            return json.dumps({**json.loads(told), **answer})
        return told


def _seconds(event: Mapping[str, Any]) -> float:
    value = event.get("seconds")
    return min(max(float(value), 0.0), MOST_S) if isinstance(value, int | float) else 0.0


def commit_by_another(world: World) -> bool:
    """Let another client commit and confirm; tell whether it did."""
    before = {"PORT": {"Ethernet4": {"description": None}}}
    asked = {
        "version": 1, "id": SUCCESSOR, "kind": "commit", "by": "another", "deadline_s": 30.0, "before": {},
        "after": FOREIGN, "steps": [{"kind": "load", "document": FOREIGN}],
        "rollback": {"steps": [{"kind": "hdel", "key": "PORT|Ethernet4", "fields": ["description"]}], "rows": before},
    }  # fmt: skip
    data = json.dumps({"last": world.last(), **asked}).encode()
    sha256 = hashlib.sha256(data).hexdigest()
    world.call("apply", "--length", str(len(data)), "--sha256", sha256, stdin=data)
    return world.call("confirm", "--id", SUCCESSOR).get("outcome") == "confirmed"


def _commit(driver: driver_module.SonicDriver, wished: Mapping[str, Any]) -> None:
    driver.load_merge_candidate(config=json.dumps(wished))
    driver.compare_config()
    driver.commit_config("fuzzed", revert_in=REVERT_IN_S)
    driver.confirm_commit()


def carry_out(script: list[Mapping[str, Any]]) -> bool:
    """Commit and confirm by a script, and judge; tell whether the driver says that it is done.

    Whatever happens the driver raises only what NAPALM has, the switch is wholly old or new once its timer has struck,
    and what another client confirmed stays. Where every answer was one of the switch, what the driver says is so.
    """
    world = new_switch()
    assert isinstance(world, FleetWorld)
    session = ScriptedSession("leaf1", "admin", "", 60.0, clock=WorldClock(world), world=world)
    with patch.object(driver_module, "_new_session", lambda *arguments: session):
        driver = driver_module.SonicDriver("leaf1", "admin", "", 60, {"reload_poll": 1.0})
    driver.open()
    _commit(driver, EARLIER)
    session.script, session.contacts = script, 0
    said = False
    with contextlib.suppress(NapalmException, DocumentError):
        _commit(driver, WISHED)
        said = True
    world.advance(2 * MOST_S)
    status = world.call("status")["status"]["status"]
    assert status in ENDED, f"its last commit is {status}"
    rows = not unmet({"PORT": WISHED["PORT"]}, world.rows)
    assert rows == (LINE in world.lines), "a part of the change stays"
    assert not session.committed or not unmet(FOREIGN, world.rows), "what another client confirmed is gone"
    assert session.lied or not said or rows, "it was said to be done, and it is not"
    return said
