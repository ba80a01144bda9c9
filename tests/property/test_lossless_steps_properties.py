"""Between any two sets of classes no class that stays lossless is lossy for a moment, by the simulator's orchagent."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import pytest
from examples import few
from hypothesis import given
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

# The leaf has the traditional buffer model, in which buffermgrd writes priority groups too, the spine the dynamic one.
INTENT = """
fabric: pod1
workload: {kind: inference}
nodes:
  - {name: gpu, count: 2, gpus: 8, nics: {count: 4, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}
topology:
  shape: rail-optimized
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nvidia-sn4700, count: 4}
"""


@cache
def fabric() -> Fabric:
    found = design(load_intent_text(INTENT, "pod.yml"), load_catalog()).fabric
    assert found is not None
    return found


@cache
def configured(classes: Classes) -> dict[str, DeviceConfig]:
    made = replace(fabric(), policies=fabric().policies._replace(classes=classes))
    configurator = Configurator(made, find_templates())
    return {name: configurator.device(made.switch_of[name]) for name in ("pod1-leaf1", "pod1-spine1")}


class Switch:
    """CONFIG_DB under buffermgrd and orchagent, which take notice of each write."""

    def __init__(self, config: DeviceConfig) -> None:
        self.db, self.orchagent, self.headroom = ConfigDb(), Orchagent(), Seen()
        self.db.replace_all(json_tables(config.config_db()))
        self.db.set_fields("DEVICE_METADATA|localhost", {"mac": "52:54:00:00:00:01", "platform": "x86_64-p-r0"})
        make_lossless_rows(self.db, self.headroom)
        self.orchagent.start(self.db)

    @property
    def running(self) -> RunningConfig:
        return running_from({**self.db.document(), "bgpraw": "frr version 8.4.4\n"})

    def run(self, step: Step) -> Iterator[None]:
        """Carry a step out, and stop wherever the daemons look."""
        match step:
            case LoadStep(document):
                self._load(document)
            case HdelStep(key, fields):
                self.db.delete_fields(key, fields)
            case RecreateStep(removed, document):
                for key, fields in removed:
                    self.db.delete_fields(key, fields) if fields else self.db.delete(key)
                self._follow()
                yield
                self._load(document)
            case _:
                raise AssertionError(f"no {type(step).__name__} for classes")
        self._follow()
        yield

    def _load(self, document: object) -> None:
        assert isinstance(document, dict)
        for table, rows in document.items():
            for key, fields in rows.items():
                name = f"{table}|{key}"
                self.db.delete(name) if fields is None else self.db.set_fields(name, fields or {"NULL": "NULL"})

    def _follow(self) -> None:
        make_lossless_rows(self.db, self.headroom)
        assert not self.orchagent.follow(self.db), "orchagent crashes"

    def lossless(self) -> set[int]:
        """Return the code points that are lossless, and marked, from the port's group to its queue."""
        port = next(key for key, row in self.db.table("PORT_QOS_MAP").items() if key != "global")
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
                and self._is_lossless("BUFFER_PG", port, group)
                and self._is_lossless("BUFFER_QUEUE", port, queue)
                and self._is_marked(port, queue)
            ):
                found.add(int(dscp))
        return found

    def _is_marked(self, port: str, queue: str) -> bool:
        profile = self.orchagent.bound_to("QUEUE", port, int(queue), "wred_profile")
        return self.orchagent.object_of(f"WRED_PROFILE|{profile}").get("ecn", "ecn_none") != "ecn_none"

    def _is_lossless(self, table: str, port: str, number: str) -> bool:
        profile = self.orchagent.bound_to(table, port, int(number), "profile")
        return profile == "NULL" or (
            "lossless" in profile and bool(self.orchagent.object_of(f"BUFFER_PROFILE|{profile}"))
        )

    def watched(self) -> list[dict[str, str]]:
        return [self.orchagent.watch_of(port) for port in self.db.table("PORT_QOS_MAP") if port != "global"]

    def queues(self) -> dict[tuple[str, int, str], str]:
        """Return the scheduler and marking of every queue of the ports in use."""
        return {
            (port, queue, name): self.orchagent.bound_to("QUEUE", port, queue, name)
            for port in self.db.table("PORT_QOS_MAP")
            for queue in range(8)
            for name in ("scheduler", "wred_profile")
        }


MAPS = {
    "dscp_to_tc_map": "DSCP_TO_TC_MAP",
    "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
    "tc_to_queue_map": "TC_TO_QUEUE_MAP",
    "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
    "pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
}


def points(classes: Iterable[TrafficClass]) -> set[int]:
    return {dscp for one in classes if one.lossless for dscp in one.dscp}


def walk(switch: Switch, steps: Iterable[Step], always: set[int]) -> None:
    for number, step in enumerate(steps):
        for _ in switch.run(step):
            assert always <= switch.lossless(), f"step {number}: {step!r}"


def delta_to(switch: Switch, intended: DeviceConfig) -> Delta:
    found = diff(intended.device, switch.running, intended)
    return Delta(tuple(change for change in found.delta if change.table != FRR_TABLE))


@pytest.mark.parametrize("device", ["pod1-leaf1", "pod1-spine1"])
@few
@given(class_sets(), class_sets())
def test_a_class_that_stays_lossless_is_lossless_at_every_moment(device: str, base: Classes, head: Classes) -> None:
    switch, intended = Switch(configured(base)[device]), configured(head)[device]
    assert switch.lossless() == points(base)
    before = switch.running
    delta = delta_to(switch, intended)
    always = points(base) & points(head)
    if Disruption.FLAP in delta.disruptions:  # a range in use is split, which the plan says
        always = set()
    assert not delta.reloads
    walk(switch, steps_of(delta, before), always)
    assert switch.lossless() == points(head)
    assert not delta_to(switch, intended), "what SONiC made of it is what was intended"
    fresh = Switch(intended)
    assert switch.watched() == fresh.watched()
    booted = Orchagent()
    booted.start(switch.db)
    for key in intended.config_db()["BUFFER_PG"]:
        port, _, span = key.partition("|")
        for group in span.split("-"):
            profile = fresh.orchagent.bound_to("BUFFER_PG", port, int(group), "profile")
            assert booted.bound_to("BUFFER_PG", port, int(group), "profile") == profile, (
                "what holds after the next boot"
            )
    assert switch.queues() == fresh.queues()
    for key in fresh.orchagent.seen:
        if key.startswith(("SCHEDULER|", "WRED_PROFILE|")):
            assert settled(switch.orchagent.object_of(key)) == settled(fresh.orchagent.object_of(key)), key
    walk(switch, undo_steps_of(delta, before), always)
    assert switch.lossless() == points(base)
    assert switch.watched() == Switch(configured(base)[device]).watched()


def settled(fields: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if (name, value) != ("weight", "1")}
