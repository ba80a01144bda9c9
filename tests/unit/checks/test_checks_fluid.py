"""What `check` says of ECN and PFC, against a fluid model of the buffer: senders at line rate that nothing slows.

Buffered bytes are counted for their ingress group and their egress queue; a group pauses at alpha times what is free of
the shared buffer, a queue marks from its lower threshold on. Where the chip divides its buffer, each slice has its part
and counts groups for itself; neighboring ports share slices, which is the worst case of an incast.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest

from railweave.api.reference import models
from railweave.catalog.load import load_catalog
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.qos.buffering import BufferPlan, plan_buffers
from railweave.qos.marking import choose_marking
from railweave.qos.mmu.pause import PauseLimits, mark_percent, marking_rules

pytestmark = [pytest.mark.slow, pytest.mark.trials]

Pods = Callable[..., Fabric]
Findings = Callable[..., tuple[Diagnostic, ...]]
_STEPS = 500


@dataclass(frozen=True, slots=True)
class Traffic:
    """Flows from ingress to egress ports at a share of line rate, and the share at which an egress port drains."""

    flows: tuple[tuple[int, int, float], ...]
    drain: float


def incast(senders: int) -> Traffic:
    return Traffic(tuple((one, 0, 1.0) for one in range(1, senders + 1)), 1.0)


def all_to_all(ports: int, fan: int = 2) -> Traffic:
    """Every port sends to ``fan`` others, in turns all of them, and receivers take half of the line rate."""
    flows = ((one, (one + step) % ports, 1 / fan) for one in range(ports) for step in range(1, fan + 1))
    return Traffic(tuple(flows), 0.5)


def slice_of(limits: PauseLimits, ingress: int, egress: int) -> int:
    """Return where a packet is stored: a port's slices are those of its part of the panel, by where the packet goes."""
    slices, ports = limits.slices, max(limits.ports, ingress + 1, egress + 1)
    first = ingress * (slices.total // slices.of_port) // ports * slices.of_port
    return first + egress * slices.of_port // ports


def first_pause(limits: PauseLimits, traffic: Traffic, taken_bytes: int = 0) -> tuple[float, ...]:
    """Return the depth of every queue that the first paused group feeds, at the moment of the pause."""
    slice_bytes = limits.shared_bytes / limits.slices.total
    step = limits.shared_bytes / _STEPS / sum(rate for _, _, rate in traffic.flows)
    held = [0.0] * len(traffic.flows)
    slices = [slice_of(limits, ingress, egress) for ingress, egress, _ in traffic.flows]
    while True:
        queues: dict[int, float] = {}
        for index, (_, egress, rate) in enumerate(traffic.flows):
            held[index] += rate * step
            queues[egress] = queues.get(egress, 0.0) + held[index]
        groups: dict[tuple[int, int], float] = {}
        for index, (ingress, egress, _) in enumerate(traffic.flows):
            held[index] *= max(0.0, 1 - traffic.drain * step / queues[egress])
            groups[slices[index], ingress] = groups.get((slices[index], ingress), 0.0) + held[index]
        free = dict.fromkeys(slices, slice_bytes - taken_bytes)
        for (one, _), size in groups.items():
            free[one] -= size
        paused = next((key for key, size in groups.items() if size >= limits.alpha * free[key[0]]), None)
        if paused is not None:
            keys = zip(slices, traffic.flows, strict=True)
            return tuple(queues[flow[1]] for one, flow in keys if (one, flow[0]) == paused)


def plan_of(fabric: Fabric, name: str) -> BufferPlan:
    switch = fabric.switch_of[name]
    lengths = fabric.cable_lengths_m[switch.tier.level]
    plan = plan_buffers(switch.panel, switch.tier, fabric.policies, lengths)
    assert plan is not None
    return plan


def traffics(ports: int) -> Iterable[tuple[str, Traffic]]:
    for senders in (2, 4, 8, 16, 32, 64):
        if senders < ports:
            yield f"{senders}:1", incast(senders)
    yield "all to all", all_to_all(ports)


NO_SUCH_POD = {
    ("dell-z9864f", 100): "the ASIC drives fewer ports than all cages would have",
    ("nokia-ixr7220-h5-64d", 100): "the ASIC drives fewer ports than all cages would have",
    ("nokia-ixr7220-h5-64o", 100): "the ASIC drives fewer ports than all cages would have",
    ("nokia-ixr7220-h6-64", 400): "two lanes of 200G, and the NIC has lanes of 100G",
    ("nvidia-sn4410", 400): "eight of its cages alone",
}
"""Models and speeds in Gb/s of which no pod with the same switch and speed in both tiers is designed, and why."""


@pytest.mark.parametrize("model", load_catalog().switch_ids())
def test_where_check_says_so_ecn_marks_before_the_first_pause(pod: Pods, findings: Findings, model: str) -> None:
    (switch,) = models(model).switches
    for use in switch.speeds:
        if use.lossless_m is None:
            assert use.missing
        elif (model, use.speed_gbps) not in NO_SUCH_POD and use.speed_gbps >= 100:
            nic = "broadcom-thor-ultra" if use.speed_gbps == 800 else "connectx-7"
            chosen = {"leaf": model, "spine": model, "speed": f"{use.speed_gbps}G", "nic": nic}
            assert not {one.code for one in findings(**chosen)} & {"E-2", "E-3", "E-4", "E-5"}
            assert_marked_before_pause(pod(**chosen), use.speed_gbps)


def assert_marked_before_pause(fabric: Fabric, speed_gbps: int) -> None:
    for name in ("pod-leaf1", "pod-spine1"):
        plan = plan_of(fabric, name)
        (roce,) = [one for one in fabric.policies.classes if one.lossless]
        marking = choose_marking(roce, speed_gbps, None, plan).thresholds
        for pattern, traffic in traffics(plan.limits.ports):
            depths = first_pause(plan.limits, traffic)
            assert min(depths) >= 1.9 * marking.minimum_bytes, (name, pattern)
            assert min(mark_percent(marking, round(depth)) for depth in depths) > 1
            if pattern != "all to all":
                assert min(depths) >= 1.9 * marking.maximum_bytes, (name, pattern)


def test_where_check_refuses_pfc_comes_first(pod: Pods, findings: Findings) -> None:
    late = (
        "traffic_classes:\n  - {name: roce, dscp: [26], lossless: true, priority: 3, share: 90,"
        " ecn: {min_kb: 15000, max_kb: 20000}}\n  - {name: rest, role: bulk, dscp: default, priority: 0, share: 10}\n"
    )
    told = [one for one in findings(late, leaf="nvidia-sn4700") if one.code == "E-2"]
    assert [one.severity for one in told] == [Severity.ERROR]
    limits = plan_of(pod(late, leaf="nvidia-sn4700"), "pod-leaf1").limits
    assert max(first_pause(limits, all_to_all(limits.ports))) < 15_000_000
    assert 2 * limits.congested_bytes(2) == pytest.approx(max(first_pause(limits, incast(2))), rel=0.01)


def test_a_full_lossy_queue_makes_pfc_come_first_where_check_says_so(pod: Pods) -> None:
    plan = plan_of(pod(), "pod-leaf1")
    limits = plan.limits._replace(lossy_bytes=plan.limits.slices.share(plan.limits.shared_bytes) // 2)
    (roce,) = [one for one in pod().policies.classes if one.lossless]
    marking = choose_marking(roce, 400, None, plan).thresholds._replace(minimum_bytes=limits.all_bytes * 3 // 4)
    assert {one.code for one in marking_rules(marking, limits) if not one.holds} >= {"E-6"}
    assert min(first_pause(limits, all_to_all(limits.ports))) > marking.minimum_bytes
    assert max(first_pause(limits, all_to_all(limits.ports), limits.lossy_bytes)) < marking.minimum_bytes


@pytest.mark.parametrize("model", ["nokia-ixr7220-h4-64d", "nvidia-sn4700", "nvidia-sn5600"])
def test_the_depths_of_the_patterns_are_those_of_the_fluid_model(pod: Pods, model: str) -> None:
    limits = plan_of(pod(leaf=model), "pod-leaf1").limits
    depths = dict(limits.patterns)
    assert depths["an incast of 2 ports to one"] == pytest.approx(first_pause(limits, incast(2))[0], rel=0.01)
    everyone = depths[f"all {limits.ports} ports congested"]
    assert everyone == pytest.approx(min(first_pause(limits, all_to_all(limits.ports))), rel=0.01)
