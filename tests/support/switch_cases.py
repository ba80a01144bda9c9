"""Seeded cases for ``railweave-switch``: one change, faults at chosen steps, and what must be true whatever happens."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from virtual_switch import FRR_IGNORED, STATE, World, encoded, frr_lines

from railweave_switch.host import Done
from railweave_switch.rows import tables_of, unmet

BEFORE: dict[str, Any] = {
    "DEVICE_METADATA": {
        "localhost": {
            "hostname": "leaf1",
            "hwsku": "S",
            "mac": "m",
            "platform": "p",
            "docker_routing_config_mode": "split-unified",
        }
    },
    "PORT": {"Ethernet0": {"mtu": "9100", "adv_speeds": ["100", "200"]}, "Ethernet4": {"mtu": "9100"}},
    "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "48": "6"}},
    "QUEUE": {"Ethernet0|3": {"scheduler": "one"}},
    "PFC_WD": {"Ethernet0": {"action": "drop", "detection_time": "400"}},
}
WATCHED = BEFORE["PFC_WD"]
FORWARDS = {"Ethernet0": {"action": "forward", "detection_time": "400"}}
FRR_BEFORE = """router bgp 65001
 bgp router-id 10.1.0.1
 timers bgp 3 9
 neighbor 10.0.0.1 remote-as 65000
 address-family ipv4 unicast
  network 10.1.0.1/32
 exit-address-family
exit
ip prefix-list X seq 5 permit any
"""
ROLLBACK = "20261122-000009-ffff"
"""The id of the rollback of a confirmed commit."""
CHANGED_LINE = ("router bgp 65001", "timers bgp 1 3")
DAMAGES: tuple[bytes | None, ...] = (b"", b'{"version": 1, "id', b"{}", None, b"\0" * 64, b"[]")
"""What becomes of a state file: empty, truncated, without content, removed, zeros, another value."""
KINDS = ("none", "kill worker", "kill guard", "kill both", "disk", "redis", "frr", "lost frr", "damage", "clock",
         "refuse", "reboot", "warm reboot", "foreign save", "bgpd", "late bgpd", "lies", "frozen",
         "replayed")  # fmt: skip
"""``lies``: a command of SONiC that says it did what it did not, or the other way round; ``frozen``: a process of the
program that goes on after so long; ``replayed``: a call of the client that arrives a second time, later."""
FRR_KINDS = ("none", "kill worker", "kill guard", "frr", "refuse", "reboot", "bgpd", "late bgpd")
"""With these a daemon of FRR goes away and boots again, or starts after the others."""
UNGUARDED = frozenset({"kill both", "reboot", "warm reboot"})
"""After these no process of the switch is there to revert: the next client is."""
LOST = frozenset({"lost frr", "bgpd"})
"""After these FRR boots its file again, and runs what was last saved."""


def transaction(deadline_s: float | None = 30.0, **changes: Any) -> dict[str, Any]:
    """Return a change of rows, fields and FRR lines by every kind of step."""
    return {
        "version": 1,
        "id": "20261122-000000-aaaa",
        "kind": "commit",
        "deadline_s": deadline_s,
        "frr_ignored": FRR_IGNORED,
        "before": {
            "PORT": {"Ethernet0": {"mtu": "9100", "description": None}, "Ethernet4": {"mtu": "9100"}},
            "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "24": None}},
            "QUEUE": {"Ethernet0|3": {"scheduler": "one"}, "Ethernet4|3": None},
            "PFC_WD": WATCHED,
        },
        "after": {
            "PORT": {"Ethernet0": {"mtu": "9000", "description": "spine1"}, "Ethernet4": {"mtu": "9000"}},
            "DSCP_TO_TC_MAP": {"AZURE": {"26": None, "24": "3"}},
            "QUEUE": {"Ethernet0|3": None, "Ethernet4|3": {"scheduler": "two"}},
            "PFC_WD": FORWARDS,
        },
        "steps": [
            {"kind": "patch", "operations": [{"op": "replace", "path": "/PORT/Ethernet4/mtu", "value": "9000"}]},
            {
                "kind": "load",
                "document": {
                    "PORT": {"Ethernet0": {"mtu": "9000", "description": "spine1"}},
                    "DSCP_TO_TC_MAP": {"AZURE": {"24": "3"}},
                    "QUEUE": {"Ethernet0|3": None, "Ethernet4|3": {"scheduler": "two"}},
                },
            },
            {"kind": "hdel", "key": "DSCP_TO_TC_MAP|AZURE", "fields": ["26"]},
            {"kind": "recreate", "removed": [["PFC_WD|Ethernet0", []]], "rows": {"PFC_WD": FORWARDS}},
            {
                "kind": "vtysh",
                "text": "router bgp 65001\n no timers bgp 3 9\n timers bgp 1 3\nexit\n"
                "no ip prefix-list X seq 5 permit any\n",
            },
        ],
        "rollback": {
            "steps": [
                {"kind": "vtysh", "text": "router bgp 65001\n no timers bgp 1 3\n timers bgp 3 9\nexit\n"},
                {"kind": "vtysh", "text": "ip prefix-list X seq 5 permit any\n"},
                {
                    "kind": "load",
                    "document": {
                        "PORT": {"Ethernet0": {"mtu": "9100"}, "Ethernet4": {"mtu": "9100"}},
                        "DSCP_TO_TC_MAP": {"AZURE": {"26": "3"}},
                        "QUEUE": {"Ethernet0|3": {"scheduler": "one"}, "Ethernet4|3": None},
                    },
                },
                {"kind": "hdel", "key": "DSCP_TO_TC_MAP|AZURE", "fields": ["24"]},
                {"kind": "hdel", "key": "PORT|Ethernet0", "fields": ["description"]},
                {"kind": "recreate", "removed": [["PFC_WD|Ethernet0", []]], "rows": {"PFC_WD": WATCHED}},
            ],
            "undo": {"PORT": {"Ethernet0": {"mtu": "9100"}}},
        },
        **changes,
    }


def new_world() -> World:
    """Return a switch before the change, its saved configuration the same."""
    world = World()
    world.rows = {f"{table}|{key}": encoded(row) for table, rows in BEFORE.items() for key, row in rows.items()}
    world.lines = list(frr_lines(FRR_BEFORE))
    world.save()
    return world


def is_restored(world: World) -> bool:
    """Tell whether all is as before the change."""
    return tables_of(world.rows) == BEFORE and set(world.lines) == set(frr_lines(FRR_BEFORE))


def is_changed(world: World, asked: Mapping[str, Any]) -> bool:
    """Tell whether the whole change is there."""
    return not unmet(asked["after"], world.rows) and CHANGED_LINE in world.lines


def boots_before(world: World) -> bool:
    """Tell whether both startup files are those of before the change."""
    rows, lines = world.startup()
    return tables_of(rows) == BEFORE and set(lines) == set(frr_lines(FRR_BEFORE))


def boots_changed(world: World, asked: Mapping[str, Any]) -> bool:
    """Tell whether both startup files hold the change."""
    rows, lines = world.startup()
    return not unmet(asked["after"], rows) and CHANGED_LINE in lines


@dataclass
class Case:
    """One seeded case and its result."""

    seed: int
    kinds: tuple[str, ...] = ()
    confirmed: bool = False
    kept: bool = False
    told: str = ""
    calls: list[Callable[[], dict[str, Any]]] = field(default_factory=list)
    """What the client sent, to be sent again."""


class Broken(AssertionError):  # noqa: N818
    """What must never be."""


def run_case(seed: int, kinds: Sequence[str] = KINDS) -> Case:
    """Run one case with some of the kinds; raises Broken where an unconfirmed change stays, or ``reverted`` was said of
    what is not."""
    rng = random.Random(seed)
    world = new_world()
    case = Case(seed, tuple(rng.sample(kinds, rng.choice((1, 1, 1, 2, 2, 3)))))
    asked = transaction(deadline_s=rng.choice((30.0, 30.0, 5.0, None)))
    if "lies" in case.kinds and asked["deadline_s"] is None:
        asked["deadline_s"] = 60.0  # nobody would read back what FRR took before it is kept
    world.on_write = lambda path, data: _watch(world, path, data, case)
    for kind in case.kinds:
        _arm(world, kind, rng)
    _client(world, asked, case, rng)
    if "replayed" in case.kinds:
        _replay(world, case, rng)
    world.advance(4000.0)
    _end(world, asked, case)
    return case


def _client(world: World, asked: Mapping[str, Any], case: Case, rng: random.Random) -> None:
    """Do what a client does: apply, and confirm, revert, roll back, or be lost."""

    def sent(*words: str) -> dict[str, Any]:
        case.calls.append(partial(world.call, *words))
        return world.call(*words)

    last = world.last()
    case.calls.append(partial(world.send, "apply", {**asked, "last": last}))
    answer = world.send("apply", asked)
    world.advance(rng.choice((0.0, 1.0, 10.0, 29.5)))
    client = rng.choice(("confirm", "revert", "roll back", "nothing", "nothing"))
    if client in ("confirm", "roll back") and "lies" in case.kinds and list(CHANGED_LINE) not in _added(answer):
        client = "revert"  # as our driver does: of FRR only what was read back says what is there
    if client in ("confirm", "roll back"):
        answer = sent("confirm", "--id", asked["id"]) or answer
    elif client == "revert":
        sent("revert", "--id", asked["id"])
    case.confirmed = answer.get("outcome") == "confirmed" and not answer.get("error") and client != "roll back"
    if client == "roll back":
        world.advance(rng.choice((0.0, 10.0)))
        sent("revert", "--commit", asked["id"], "--last", asked["id"], "--id", ROLLBACK)


def _added(answer: Mapping[str, Any]) -> list[Any]:
    return list((answer.get("frr") or {}).get("added") or ())


def _replay(world: World, case: Case, rng: random.Random) -> None:
    """Let calls of the client arrive once more, later."""
    for _ in range(rng.choice((1, 2, 3))):
        world.advance(rng.choice((0.0, 5.0, 100.0)))
        rng.choice(case.calls)()


SUCCESSOR = "20261122-000005-bbbb"
LATE = "20261122-000007-dddd"
"""The ids of the commit of another client, and of what the first one sends after it."""

NAME = {"PORT": {"Ethernet4": {"description": "the successor's"}}}
NO_NAME: dict[str, Any] = {"PORT": {"Ethernet4": {"description": None}}}
OVERTAKEN = ("none", "none", "kill worker", "kill guard", "kill both", "disk", "frr", "clock", "warm reboot", "reboot",
             "bgpd", "late bgpd", "lies", "frozen", "foreign commit", "foreign commit")  # fmt: skip
"""``foreign commit``: the other client's change arrives amid the first one's, at any step of it."""


def successors_change() -> dict[str, Any]:
    """Return another client's change: it names a port."""
    back = [{"kind": "hdel", "key": "PORT|Ethernet4", "fields": ["description"]}]
    return {
        "version": 1,
        "id": SUCCESSOR,
        "kind": "commit",
        "by": "successor",
        "deadline_s": 30.0,
        "before": NO_NAME,
        "after": NAME,
        "steps": [{"kind": "load", "document": NAME}],
        "rollback": {"steps": back, "rows": NO_NAME},
    }


def run_overtaken(seed: int) -> str:
    """Let a client sleep after its change, another one commit meanwhile, and the first one go on; return what it did.

    Raises Broken where it undid, or ended in the other one's name, what that had been told is confirmed.
    """
    rng = random.Random(f"overtaken {seed}")
    world = new_world()
    asked = transaction(deadline_s=rng.choice((30.0, 5.0)))
    kind = rng.choice(OVERTAKEN)
    amid: list[bool] = []
    if kind == "foreign commit":
        world.at_step[rng.randint(1, 300)] = lambda: amid.append(_succeed(world, rng))
    elif kind != "none":
        _arm(world, kind, rng)
    world.send("apply", asked)
    if rng.random() < 0.3:
        world.call("confirm", "--id", str(asked["id"]))
    slept = str(asked["id"]) if amid else world.last()
    world.advance(rng.choice((0.0, 20.0, 100.0, 500.0)))
    world.call("status")
    confirmed = any(amid) or _succeed(world, rng)
    calls: dict[str, Callable[[], dict[str, Any]]] = {
        "confirms": lambda: world.call("confirm", "--id", str(asked["id"])),
        "reverts": lambda: world.call("revert", "--id", str(asked["id"])),
        "rolls back": lambda: world.call("revert", "--commit", str(asked["id"]), "--last", slept, "--id", LATE),
        "rolls the last back": lambda: world.call("revert", "--commit", SUCCESSOR, "--last", slept, "--id", LATE),
        "applies": lambda: world.send("apply", {**asked, "id": LATE, "last": slept, "before": {}}),
    }
    what = rng.choice(sorted(calls))
    answer = calls[what]()
    where = f"seed {seed} ({kind}): the first client {what}: {answer.get('error')}"
    if confirmed and answer.get("outcome") in ("applied", "confirmed", "reverted"):
        raise Broken(f"{where}: it was done")
    world.full_from_write, world.disk_full = None, False
    world.advance(4000.0)
    named = world.rows["PORT|Ethernet4"].get("description")
    if confirmed and (named is None or world.last() != SUCCESSOR):
        raise Broken(f"{where}: what was confirmed is gone")
    return what if confirmed else ""


def _succeed(world: World, rng: random.Random) -> bool:
    """Let the other client commit; return whether that was confirmed."""
    world.send("apply", successors_change())
    world.advance(rng.choice((0.0, 10.0)))
    return world.call("confirm", "--id", SUCCESSOR).get("outcome") == "confirmed"


def _watch(world: World, path: str, data: bytes, case: Case) -> None:
    """Hold every word ``reverted`` against what is there when it is written."""
    if path != STATE:
        return
    state = json.loads(data)
    case.kept = case.kept or state["status"] == "confirmed"
    claims = state["status"] == "reverted" and state["reason"] not in ("it never began", "what runs was accepted")
    if claims and not is_restored(world) and not world.is_loading():
        raise Broken(f"seed {case.seed} {case.kinds}: `reverted` was written and something is missing")


def _end(world: World, asked: Mapping[str, Any], case: Case) -> None:
    """Let the faults pass, contact the switch as the next client does, and judge."""
    if not case.kept and not UNGUARDED & set(case.kinds) and not is_restored(world):
        raise Broken(f"seed {case.seed} {case.kinds}: the switch left an unconfirmed change standing by itself")
    world.disk_full, world.full_from_write = False, None
    world.redis_up_at = world.frr_up_at = 0.0
    world.late.clear()
    world.refuse = lambda words: None
    world.kill_at.clear()
    world.at_step.clear()
    for process in world.processes:
        process.steps_left = None
    world.advance(200.0)
    found = world.call("status")["status"]
    case.told = found["status"]
    where = f"seed {case.seed} {case.kinds}: {found}"
    _contact(world, found, where)
    state = world.call("status")["status"]["status"]
    if state == "confirmed":
        if not (is_changed(world, asked) and boots_changed(world, asked)) and not LOST & set(case.kinds):
            raise Broken(f"{where}: confirmed, and not there")
    elif not is_restored(world) and not (case.kept and "damage" in case.kinds):
        raise Broken(f"{where}: an unconfirmed change stays ({state})")
    elif not boots_before(world) and not (case.kept and "damage" in case.kinds):
        raise Broken(f"{where}: an unconfirmed change would boot ({state})")
    if case.confirmed and state != "confirmed" and "damage" not in case.kinds:
        raise Broken(f"{where}: the confirmation was lost")


def _contact(world: World, found: Mapping[str, Any], where: str) -> None:
    """Do what the status asks the next client to do."""
    status = found["status"]
    if found["unsaved"]:
        world.call("recover")
    if status == "confirmed" and "runs a part" in found["error"]:
        world.call("revert", "--commit", found["last"], "--id", ROLLBACK)
    if status == "none" and not is_restored(world):
        raise Broken(f"{where}: nothing is known of a change that stays")
    if status in ("armed", "applying", "reverting"):
        raise Broken(f"{where}: nobody ended it")
    if status in ("expired", "failed"):
        world.call("revert")
    if status == "damaged":
        answer = world.call("recover")
        if answer["outcome"] == "refused":
            if "--accept-running" not in answer["error"]:
                raise Broken(f"{where}: {answer}")
            world.call("recover", "--accept-running")


def _arm(world: World, kind: str, rng: random.Random) -> None:
    """Let one fault strike at a step of the program, or at a moment, chosen by the seed."""
    strikes: dict[str, Callable[[], None]] = {
        "kill both": lambda: _kill_all(world),
        "disk": lambda: setattr(world, "disk_full", True),
        "redis": lambda: setattr(world, "redis_up_at", world.now + rng.choice((5.0, 100.0))),
        "frr": lambda: _stop_frr(world, rng.choice((5.0, 100.0)), lost=False),
        "lost frr": lambda: _stop_frr(world, rng.choice((5.0, 100.0)), lost=True),
        "damage": lambda: _damage(world, rng),
        "clock": lambda: setattr(world, "wall", world.wall + rng.choice((-1e6, 1e6))),
        "reboot": world.reboot,
        "warm reboot": lambda: world.reboot(warm=True),
        "foreign save": lambda: _save_by_hand(world),
        "frozen": lambda: world.advance(rng.choice((20.0, 60.0, 500.0, 2000.0))),
        "bgpd": lambda: world.stop_daemon("bgpd", rng.choice((5.0, 40.0))),
    }
    world.reserve_helps = rng.random() < 0.7
    if kind == "kill worker":
        world.kill_at["worker"] = rng.randint(0, 260)
    elif kind == "kill guard":
        world.kill_at["guard"] = rng.randint(0, 60)
    elif kind == "disk" and rng.random() < 0.3:
        world.full_from_write = rng.randint(1, 14)
    elif kind == "late bgpd":
        world.late["bgpd"] = rng.choice((5.0, 40.0))
    elif kind == "refuse":
        _refuse(world, rng)
    elif kind == "lies":
        _lie(world, rng)
    elif kind == "frozen" or (kind in strikes and rng.random() < 0.5):
        world.at_step[rng.randint(1, 420)] = strikes[kind]
    elif kind in strikes:
        world.at(world.now + rng.uniform(0.0, 45.0), strikes[kind])


def _save_by_hand(world: World) -> None:
    """Save as an operator does who sees that all daemons run: without one of them its lines would be lost by that."""
    if not world.is_loading():
        world.save()


def _kill_all(world: World) -> None:
    for process in world.processes:
        process.alive = False


def _stop_frr(world: World, seconds: float, *, lost: bool) -> None:
    world.frr_up_at = world.now + seconds
    if lost:
        world.lines = world.startup()[1]


def _damage(world: World, rng: random.Random) -> None:
    value = rng.choice(DAMAGES)
    if STATE not in world.files:
        return
    if value is None:
        del world.files[STATE]
    else:
        world.files[STATE] = value


def _refuse(world: World, rng: random.Random) -> None:
    _answer_instead(world, rng, lambda words: Done(1, "", "Error: refused"))


def _lie(world: World, rng: random.Random) -> None:
    """Let a command say that it did what it did not, or that it failed although it did it."""
    if rng.random() < 0.5:
        _answer_instead(world, rng, lambda words: Done(0, "", ""))
    else:
        _answer_instead(world, rng, lambda words: _failed_after(world, words))


def _failed_after(world: World, words: Sequence[str]) -> Done:
    instead, world.refuse = world.refuse, lambda words: None
    world.execute(words, "")
    world.refuse = instead
    return Done(1, "", "Error: lost")


def _answer_instead(world: World, rng: random.Random, answer: Callable[[Sequence[str]], Done]) -> None:
    """Let up to three calls of one of SONiC's commands be answered otherwise."""
    left = [rng.randint(1, 3)]
    words_of = rng.choice((["config", "load"], ["vtysh", "-f"], ["config", "apply-patch"], ["config", "save"]))

    def instead(words: Sequence[str]) -> Done | None:
        if list(words[: len(words_of)]) == words_of and left[0] > 0:
            left[0] -= 1
            return answer(words)
        return None

    world.refuse = instead
