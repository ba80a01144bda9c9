"""Between any two sets of classes nothing that stays loses its buffer or scheduler, by the simulator's daemons.

Every step is walked through orchagent and buffermgrd, which look after every single write or after a whole step, as
their queues may have it. What stays may let go only in a window that the plan claims, and on one port at a time.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any

import pytest
from by_check import sampled
from examples import few
from hypothesis import given
from hypothesis import strategies as st
from traffic_classes import class_sets

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.fabric.policy import TrafficClass
from railweave.intent.load import load_intent_text
from railweave.sonic.delta.change import Delta, Disruption
from railweave.sonic.delta.diff import diff
from railweave.sonic.delta.steps import HdelStep, LoadStep, RecreateStep, Step, steps_of, undo_steps_of
from railweave.sonic.document import RunningConfig, json_tables, running_from
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import FRR_TABLE, DeviceConfig
from railweave.templates import find_templates
from sonic_sim.buffermgr import Seen, make_lossless_rows
from sonic_sim.configdb import ConfigDb
from sonic_sim.orchagent import Orchagent

Classes = tuple[TrafficClass, ...]

INTENT = """
fabric: pod1
workload: {kind: inference}
nodes:
  - {name: gpu, count: 2, gpus: 8, nics: {count: 4, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}
topology:
  shape: rail-optimized
  leaf: {model: %s}
  spine: {model: %s, count: 4}
"""
MODELS = {"leaf": ("nokia-ixr7220-h4-64d", "nvidia-sn4700"), "spine": ("nvidia-sn4700", "nokia-ixr7220-h5-64d")}
"""Of each tier a switch with the traditional buffer model, in which buffermgrd writes groups too, and a dynamic one."""
DEVICES = [f"{role} {number}" for role in MODELS for number in range(2)]


@cache
def fabric(number: int) -> Fabric:
    intent = INTENT % (MODELS["leaf"][number], MODELS["spine"][number])
    found = design(load_intent_text(intent, "pod.yml"), load_catalog()).fabric
    assert found is not None
    return found


@cache
def configured(classes: Classes, device: str) -> DeviceConfig:
    role, number = device.split()
    of = fabric(int(number))
    made = replace(of, policies=of.policies._replace(classes=classes))
    found = Configurator(made, find_templates()).device(made.switch_of[f"pod1-{role}1"])
    used = [row.key for row in found.rows if row.table == "PORT_QOS_MAP" and row.key != "global"]
    away = {row.key for row in found.rows if row.table == "PORT"} - {used[0], used[-1]}
    return replace(found, rows=tuple(row for row in found.rows if row.key.partition("|")[0] not in away))


def joined(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables as the revision before wrote them: neighbors of one profile in one row."""
    return {**tables, **{name: dict(_joined(tables[name])) for name in ("BUFFER_PG", "BUFFER_QUEUE")}}


def _joined(rows: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    places = sorted((*key.split("|"), row) for key, row in rows.items())
    for (port, _, row), run in groupby(places, key=lambda one: (one[0], int(one[1]) - places.index(one), one[2])):
        numbers = [one[1] for one in run]
        yield f"{port}|{numbers[0]}" if len(numbers) == 1 else f"{port}|{numbers[0]}-{numbers[-1]}", row


@dataclass(frozen=True)
class Daemons:
    """How the daemons of a release look: after each write, or after all of a step, and in which order."""

    each_write: bool
    removes_first: bool
    release: str


Bindings = Mapping[str, Mapping[str, str]]
DAEMONS = st.builds(Daemons, st.booleans(), st.booleans(), st.sampled_from(["202505", "202511"]))


class Switch:
    """CONFIG_DB under buffermgrd and orchagent, which take notice of what is written."""

    def __init__(self, tables: Mapping[str, Any], daemons: Daemons) -> None:
        self.daemons = daemons
        self.db, self.orchagent, self.headroom = ConfigDb(), Orchagent(removes_first=daemons.removes_first), Seen()
        self.db.replace_all(json_tables(tables))
        self.db.set_fields("DEVICE_METADATA|localhost", {"mac": "52:54:00:00:00:01", "platform": "x86_64-p-r0"})
        self.orchagent.start(self.db)
        self._follow()

    @property
    def running(self) -> RunningConfig:
        return running_from({**self.db.document(), "bgpraw": "frr version 8.4.4\n"})

    def run(self, step: Step) -> Iterator[None]:
        """Carry a step out, and stop wherever the daemons look."""
        match step:
            case LoadStep(document):
                yield from self._load(document)
            case HdelStep(key, fields):
                self.db.delete_fields(key, fields)
            case RecreateStep(removed, document):
                for key, fields in removed:
                    self.db.delete_fields(key, fields) if fields else self.db.delete(key)
                    yield from self._look()
                self._follow()
                yield
                yield from self._load(document)
            case _:
                raise AssertionError(f"no {type(step).__name__} for classes")
        self._follow()
        yield

    def _load(self, document: object) -> Iterator[None]:
        assert isinstance(document, dict)
        for table, rows in document.items():
            for key, fields in rows.items():
                name = f"{table}|{key}"
                self.db.delete(name) if fields is None else self.db.set_fields(name, fields or {"NULL": "NULL"})
                yield from self._look()

    def _look(self) -> Iterator[None]:
        if self.daemons.each_write:
            self._follow()
            yield

    def _follow(self) -> None:
        assert not self.orchagent.follow(self.db), "orchagent crashes"
        make_lossless_rows(self.db, self.headroom, self.daemons.release)
        assert not self.orchagent.follow(self.db), "orchagent crashes"

    @property
    def ports(self) -> list[str]:
        return [port for port in self.db.table("PORT_QOS_MAP") if port != "global"]

    def lossless(self, port: str, bindings: Bindings | None = None) -> set[int]:
        """Return the code points that are lossless, and marked, from the port's group to its queue."""
        has = self.orchagent.bindings() if bindings is None else bindings
        maps = self.db.get(f"PORT_QOS_MAP|{port}")
        tables = {field: self.orchagent.object_of(f"{table}|{maps.get(field, '')}") for field, table in MAPS.items()}
        paused = set(maps.get("pfc_enable", "").split(","))
        found = set()
        for dscp, tc in tables["dscp_to_tc_map"].items():
            group, queue = tables["tc_to_pg_map"].get(tc, ""), tables["tc_to_queue_map"].get(tc, "")
            pauses = group in paused and tables["pfc_to_queue_map"].get(group) == queue
            pauses = pauses and ("pfc_to_pg_map" not in maps or tables["pfc_to_pg_map"].get(group) == group)
            if (
                pauses
                and self._is_lossless(has.get(f"BUFFER_PG|{port}", {}).get(f"{group} profile", ""))
                and self._is_lossless(has.get(f"BUFFER_QUEUE|{port}", {}).get(f"{queue} profile", ""))
                and self._is_marking(has.get(f"QUEUE|{port}", {}).get(f"{queue} wred_profile", ""))
            ):
                found.add(int(dscp))
        return found

    def _is_marking(self, profile: str) -> bool:
        return self.orchagent.object_of(f"WRED_PROFILE|{profile}").get("ecn", "ecn_none") != "ecn_none"

    def _is_lossless(self, profile: str) -> bool:
        return profile == "NULL" or (
            "lossless" in profile and bool(self.orchagent.object_of(f"BUFFER_PROFILE|{profile}"))
        )

    def watched(self) -> list[dict[str, str]]:
        return [self.orchagent.watch_of(port) for port in self.ports]

    def booted(self) -> dict[str, dict[str, str]]:
        """Return what groups and queues have once this configuration has been booted."""
        return Switch(self.db.document(), self.daemons).orchagent.bindings()


MAPS = {
    "dscp_to_tc_map": "DSCP_TO_TC_MAP",
    "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
    "tc_to_queue_map": "TC_TO_QUEUE_MAP",
    "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
    "pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
}


def points(classes: Iterable[TrafficClass]) -> set[int]:
    return {dscp for one in classes if one.lossless for dscp in one.dscp}


Places = set[tuple[str, str, str]]
"""Table, port, and number and field of what is bound: ``3 profile``."""


def bound(bindings: Bindings) -> Places:
    found = ((*place.split("|"), one) for place, state in bindings.items() for one in state)
    return {(table, port, one) for table, port, one in found if not one.endswith("wred_profile")}


def claimed(delta: Delta) -> Places:
    """Return what the plan says may let go: the numbers of rows that go, the groups of ports whose PFC moves."""
    found: Places = set()
    for change in delta:
        if change.disruption is Disruption.FLAP:
            port, _, span = change.key.partition("|")
            first, _, last = span.partition("-")
            numbers = range(int(first), int(last or first) + 1) if first else range(8)
            table = change.table if first else "BUFFER_PG"
            name = "scheduler" if table == "QUEUE" else "profile"
            found |= {(table, port, f"{number} {name}") for number in numbers}
    return found


def walk(switch: Switch, steps: Iterable[Step], stays: Places, claims: Places, points: set[int]) -> None:
    """Carry steps out; what ``stays`` is bound at every moment but for the ``claims``, where one port at a time lets
    go; ``points`` are lossless on all others."""
    ports = switch.ports
    for number, step in enumerate(steps):
        for _ in switch.run(step):
            has = switch.orchagent.bindings()
            lost = stays - bound(has)
            assert lost <= claims, f"step {number}: {lost - claims} {step!r}"
            away = {port for _, port, _ in lost} | {port for port in ports if not points <= switch.lossless(port, has)}
            assert len(away) <= 1, f"step {number}: {away} at once {step!r}"
            assert away <= {port for _, port, _ in claims}, f"step {number}: {away} {step!r}"


def delta_to(switch: Switch, intended: DeviceConfig) -> Delta:
    found = diff(intended.device, switch.running, intended)
    return Delta(tuple(change for change in found.delta if change.table != FRR_TABLE))


def there_and_back(switch: Switch, base: Classes, head: Classes, device: str) -> Delta:
    intended = configured(head, device)
    at_first, before = switch.booted(), switch.running
    assert all(switch.lossless(port) == points(base) for port in switch.ports)
    delta = delta_to(switch, intended)
    assert not delta.reloads
    fresh = Switch(intended.config_db(), switch.daemons)
    stays = bound(switch.orchagent.bindings()) & bound(fresh.orchagent.bindings())
    always = points(base) & points(head)
    walk(switch, steps_of(delta, before), stays, claimed(delta), always)
    assert all(switch.lossless(port) == points(head) for port in switch.ports)
    assert not delta_to(switch, intended), "what SONiC made of it is what was intended"
    assert switch.watched() == fresh.watched()
    assert switch.orchagent.bindings() == fresh.orchagent.bindings()
    assert switch.booted() == fresh.orchagent.bindings(), "what holds after the next boot"
    for key in fresh.orchagent.seen:
        if key.startswith(("SCHEDULER|", "WRED_PROFILE|")):
            assert settled(switch.orchagent.object_of(key)) == settled(fresh.orchagent.object_of(key)), key
    windows = claimed(delta) | {one for one in stays if one[0] == "BUFFER_PG"}
    walk(switch, undo_steps_of(delta, before), stays, windows, always)
    assert all(switch.lossless(port) == points(base) for port in switch.ports)
    assert switch.watched() == Switch(configured(base, device).config_db(), switch.daemons).watched()
    assert switch.orchagent.bindings() == at_first
    assert switch.booted() == at_first
    return delta


@pytest.mark.parametrize("device", sampled(DEVICES, every=2))
@few
@given(class_sets(), class_sets(), DAEMONS)
def test_what_stays_keeps_its_buffer_and_scheduler_at_every_moment(
    device: str, base: Classes, head: Classes, daemons: Daemons
) -> None:
    there_and_back(Switch(configured(base, device).config_db(), daemons), base, head, device)


@pytest.mark.parametrize("device", sampled(DEVICES, every=2))
@few
@given(class_sets(), class_sets(), DAEMONS)
def test_the_rows_of_the_revision_before_become_single_ones_in_claimed_windows(
    device: str, base: Classes, head: Classes, daemons: Daemons
) -> None:
    switch = Switch(joined(configured(base, device).config_db()), daemons)
    assert not delta_to(switch, configured(base, device)), "until a class changes, they say what is intended"
    there_and_back(switch, base, head, device)


@pytest.mark.parametrize("device", sampled(DEVICES, every=2))
@few
@given(class_sets(), DAEMONS)
def test_a_lossless_class_comes_without_any_window(device: str, base: Classes, daemons: Daemons) -> None:
    used = {one.priority for one in base}
    dscp = next(one for one in (11, 12) if one not in {point for each in base for point in each.dscp})
    free = next(one for one in (3, 4, 2, 5, 1) if one not in used)
    lossless = base[0]._replace(lossless=True, transport=None)
    extra = lossless._replace(name="more", dscp=(dscp,), priority=free, share_percent=1)
    delta = there_and_back(Switch(configured(base, device).config_db(), daemons), base, (*base, extra), device)
    assert delta.disruptions == {Disruption.NONE}


def settled(fields: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if (name, value) != ("weight", "1")}
