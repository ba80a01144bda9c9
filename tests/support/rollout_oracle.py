"""What must be true during a rollout and after it, judged from the simulator's own memory and record.

Nothing here asks the driver, the plan or the journal what a switch holds. The floors are computed anew from the links.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.plan.policy import RolloutPolicy
from railweave.sonic.frr import parse_frr
from railweave.sonic.frr.document import NEW_DEFAULTS
from railweave.sonic.ownership import OWNED
from railweave.sonic.rows import DeviceConfig

Held = Mapping[str, Any]
"""What `watched_simulator.held` reports about one switch."""

_MADE_BY_SONIC = ("VERSIONS",)
_LEFT_BY_SONIC = "CABLE_LENGTH"
"""Lengths of ports that are no longer used stay where they are: taking them away would stop the buffer manager."""

_BY_SONIC_IN_PORT = frozenset({"dhcp_rate_limit"})

_WATCHDOG = "PFC_WD|GLOBAL"
_WATCHDOG_AT_REST = ({"POLL_INTERVAL": "100"}, {"POLL_INTERVAL": "100", "BIG_RED_SWITCH": "disable"})
"""orchagent crashes when the row is deleted, so a rollback leaves it, with the values that hold without it."""
_HASH = "SWITCH_HASH|GLOBAL"
"""orchagent refuses to remove the row, so a rollback leaves it as it is."""


# --- wholly old, wholly new ---------------------------------------------------------------------------------------


def unlike_before(now: Held, before: Held, foreign: Mapping[str, Any]) -> list[str]:
    """Return what is not as it was; ``foreign`` are rows that others wrote since, by ``TABLE|key``."""
    found = list(_row_differences(now["rows"], before["rows"], foreign))
    return [*found, *_frr_differences(now["frr"], before["frr"])]


def _row_differences(now: Any, then: Any, foreign: Mapping[str, Any]) -> Iterator[str]:
    for table in sorted({*now, *then} - set(_MADE_BY_SONIC)):
        rows, rows_then = now.get(table, {}), then.get(table, {})
        for key in sorted({*rows, *rows_then}):
            place = f"{table}|{key}"
            if place == _WATCHDOG and key not in rows_then and rows[key] in _WATCHDOG_AT_REST:
                continue
            if place == _HASH and key not in rows_then:
                continue
            if rows.get(key) != rows_then.get(key) and place not in foreign and table != _LEFT_BY_SONIC:
                yield f"{place}: {rows_then.get(key)} is now {rows.get(key)}"


def unlike_wanted(now: Held, wanted: DeviceConfig) -> list[str]:
    """Return what is not as it was rendered: rows, fields, FRR lines, and owned rows that nobody wants."""
    found = []
    tables = wanted.config_db()
    for table, rows in tables.items():
        for key, fields in rows.items():
            seen = now["rows"].get(table, {}).get(key)
            want = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
            if seen is None or any(seen.get(name) != value for name, value in want.items()):
                found.append(f"{table}|{key}: wanted {want}, is {seen}")
            elif table != "DEVICE_METADATA" and set(seen) - set(want) - _BY_SONIC_IN_PORT:
                found.append(f"{table}|{key}: has more than {want}: {seen}")
    ports = set(tables["DEVICE_NEIGHBOR"])
    for table in ("DEVICE_NEIGHBOR", "INTERFACE", "PORT_QOS_MAP", "QUEUE"):
        unwanted = set(now["rows"].get(table, {})) - set(tables.get(table, {}))
        found += [f"{table}|{key}: nobody wants it" for key in unwanted if key.split("|")[0] in ports]
    return [*found, *_frr_differences(now["frr"], wanted.frr)]


def unlike_booted(now: Held, before: Held | None = None) -> list[str]:
    """Return what a reboot would change: what runs and is not saved, unless that is saved which was saved ``before``.

    A switch from the factory boots another file than the one that it would save.
    """
    found = [*_saved_differences(now["boots"], now["rows"], now["frr_to_save"])]
    if found and before is not None:
        return [*_saved_differences(now["boots"], before["boots"]["rows"], before["boots"]["frr"])]
    return found


def _saved_differences(boots: Held, rows: Any, frr: str | None) -> Iterator[str]:
    for one in _row_differences(boots["rows"], rows, {}):
        yield f"saved {one}"
    if boots["frr"] is not None:
        for one in _frr_differences(boots["frr"], frr):
            yield f"saved {one}"


def _frr_differences(now: str | None, then: str | None) -> Iterator[str]:
    if now is None or then is None:
        if now is not then:
            yield f"FRR {'does not run' if now is None else 'runs'}"
        return
    seen, wanted = _lines(now), _lines(then)
    for context, line in sorted(seen ^ wanted):
        yield f"FRR {'+' if (context, line) in seen else '-'} {context} / {line}"


def _lines(text: str) -> set[tuple[str, str]]:
    """Return the lines with their contexts, those that drain included, without what FRR takes for granted."""
    document = parse_frr(text)
    granted = {line for _, line in NEW_DEFAULTS}
    return {(one.context, one.line) for one in (*document.entries, *document.drain) if one.line not in granted}


def lost_foreign(now: Held, before: Held, ours: Collection[str]) -> list[str]:
    """Return the rows of tables that are nobody's business of ours which are gone or changed; ``ours`` are overrides.

    A switch that is provisioned gets owned tables anew, all others stay whatever is done to it.
    """
    found = []
    for table, rows in before["rows"].items():
        if table in OWNED or table in {*_MADE_BY_SONIC, _LEFT_BY_SONIC}:
            continue
        for key, fields in rows.items():
            if f"{table}|{key}" not in ours and now["rows"].get(table, {}).get(key) != fields:
                found.append(f"{table}|{key}: {fields} is now {now['rows'].get(table, {}).get(key)}")
    return found


# --- the floors ---------------------------------------------------------------------------------------------------

_SETTLED = frozenset({"none", "confirmed", "reverted"})
_HARM = frozenset({"bgp-down", "power-cycle", "lose-config", "daemon-dies"})


@dataclass(slots=True)
class Floors:
    """Follows the record of a watched fabric and says where a rollout took too much.

    A switch is at work while a command runs that changes what it runs, and until its commit is confirmed or reverted.
    Both are judged by the switch's own revisions and state: no name of a command can go out of date.

    ``in_service``: the switches that carried traffic when the rollout began; ``disturbed``: those whose change is said
    to disturb. ``crossed`` collects what was wrong; ``most`` is how many were out at once at the worst moment;
    ``worked`` are all that were ever at work.
    """

    fabric: Fabric
    policy: RolloutPolicy
    in_service: frozenset[str]
    disturbed: frozenset[str]
    crossed: list[str] = field(default_factory=list)
    most: int = 0
    worked: set[str] = field(default_factory=set)
    _links: dict[str, tuple[Link, str]] = field(init=False)
    _changing: dict[int, str] = field(default_factory=dict)
    _waiting: frozenset[str] = frozenset()
    _seen_disturbed: set[str] = field(default_factory=set)
    _back: bool = False
    _harmed: bool = False
    _healed: bool = False

    def __post_init__(self) -> None:
        """Name the ports of every link between switches that carried traffic."""
        self._links = {}
        for link in self.fabric.links:
            if link.is_access or not {link.lower, link.upper} <= self.in_service:
                continue
            lower = f"{link.lower}:{_port(self.fabric, link.lower, link.lower_port)}"
            upper = f"{link.upper}:{_port(self.fabric, link.upper, link.upper_port)}"
            self._links[lower] = (link, upper)
            self._links[upper] = (link, lower)

    def way_back(self) -> None:
        """From now on the way back is followed: nothing was said beforehand of what it disturbs."""
        self._back = True

    def follow(self, record: Sequence[Mapping[str, Any]]) -> None:
        """Judge every moment of ``record``."""
        changing = {event["number"] for event in record if event.get("changed")}
        for event in record:
            if event.get("fault") in _HARM:
                self._harmed, self._healed = True, False
            self._healed = self._healed or bool(event.get("healed"))
            if event.get("number") in changing:
                self._follow_command(event)
            if "up" in event:
                self._follow_state(event)

    def _follow_command(self, event: Mapping[str, Any]) -> None:
        if "ends" in event:
            self._changing.pop(event["number"], None)
            return
        idle = event["device"] not in self._at_work
        self._changing[event["number"]] = event["device"]
        if idle:
            self._judge(event["begins"])

    def _follow_state(self, event: Mapping[str, Any]) -> None:
        waiting = frozenset(name for name, status in event["commits"].items() if status not in _SETTLED)
        before, self._waiting = self._waiting, self._waiting | waiting
        if waiting - before - set(self._changing.values()):
            self._judge("a commit waits")
        # A switch that lost power needs a while for its sessions, also when its fault is taken away.
        self._harmed = self._harmed and not (self._healed and self._all_up(event["up"]))
        if not self._harmed:
            self._judge_links(event)
        self._waiting = waiting

    @property
    def _at_work(self) -> frozenset[str]:
        return self._waiting | frozenset(self._changing.values())

    def _all_up(self, up: Mapping[str, Sequence[str]]) -> bool:
        """Tell whether every link that carried traffic when the rollout began does so."""
        ports = {f"{name}:{port}" for name, found in up.items() for port in found}
        return self._links.keys() <= ports

    def _out(self) -> frozenset[str]:
        said = self._seen_disturbed if self._back else self.disturbed | self._seen_disturbed
        return self._at_work & said & self.in_service

    def _judge(self, why: str) -> None:
        self.worked |= self._at_work
        out = self._out()
        self.most = max(self.most, len(out))
        switches = [self.fabric.switch_of[name] for name in sorted(out) if name in self.fabric.switch_of]
        for wrong in (*self._too_many(switches), *self._too_little(out)):
            self.crossed.append(f"{wrong} while {', '.join(sorted(out))} were at work ({why})")

    def _too_many(self, out: Sequence[Switch]) -> Iterator[str]:
        if len({switch.plane for switch in out}) > 1:
            yield "two planes at once"
        totals = Counter(_group(self.fabric.switch_of[name]) for name in self.in_service)
        for group, count in Counter(map(_group, out)).items():
            share = self.policy.spines if group[0] else self.policy.leaves
            allowed = share.of(totals[group]) if group[2] is None else min(1, share.of(totals[group]))
            if count > allowed:
                yield f"{count} of {totals[group]} of {group}, {allowed} may be"

    def _too_little(self, out: Collection[str]) -> Iterator[str]:
        whole: Counter[str] = Counter()
        left: Counter[str] = Counter()
        spines: defaultdict[str, set[str]] = defaultdict(set)
        for link, _ in {id(one): (one, far) for one, far in self._links.values()}.values():
            whole[link.lower] += link.speed_gbps
            if link.lower in out:
                continue
            left[link.lower] += 0
            if link.upper not in out:
                left[link.lower] += link.speed_gbps
                spines[link.lower].add(link.upper)
        floor = self.policy.uplink_floor_percent
        for leaf, gbps in left.items():
            if floor is not None and 100 * gbps < floor * whole[leaf] - 1e-6:
                yield f"{leaf} keeps {100 * gbps / whole[leaf]:.0f}% of its uplinks, the floor is {floor}%"
        leaves = sorted(left)
        for place, leaf in enumerate(leaves):
            for other in leaves[place + 1 :]:
                if self.fabric.switch_of[leaf].plane != self.fabric.switch_of[other].plane:
                    continue
                paths = len(spines[leaf] & spines[other])
                if paths < self.policy.path_floor:
                    yield f"{leaf} and {other} keep {paths} paths, the floor is {self.policy.path_floor}"

    def _judge_links(self, event: Mapping[str, Any]) -> None:
        """A link that is down, drained or set anew has an end that is at work on a change that says so."""
        up = {f"{name}:{port}" for name, ports in event["up"].items() for port in ports}
        flapped = set(event.get("flaps", ()))
        for end, (link, far) in self._links.items():
            if end in up and far in up and end not in flapped:
                continue
            ends = {link.lower, link.upper}
            if end in flapped and end.partition(":")[0] in self._at_work:
                self._note(end.partition(":")[0], end)
            if not ends & self._out() and not (self._back and ends & self._at_work):
                how = "set anew" if end in flapped else "down"
                self.crossed.append(f"{end} is {how} and neither end is said to be disturbed (at {event['device']})")

    def _note(self, device: str, end: str) -> None:
        """Take it that a switch which sets a port anew is disturbed, whatever was said."""
        if device not in self._out() and device in self.in_service:
            if not self._back:
                self.crossed.append(f"{end} is set anew, which nobody said")
            self._seen_disturbed.add(device)
            self._judge(f"{end} set anew")


def _port(fabric: Fabric, name: str, port: int) -> str:
    return fabric.switch_of[name].panel.ports[port].name


def _group(switch: Switch) -> tuple[int, int, Any]:
    stripe = switch.stripe if switch.tier.attaches_nodes and switch.rail is not None else None
    return (switch.tier.level, switch.plane, stripe)
