"""What tests ask of the engine in one go: all switches configured, a merge document as steps, waves of devices."""

from collections.abc import Collection, Iterator

import orjson

from railweave.errors import RefusedError
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy
from railweave.plan.waves import Wave, WaveGate, lay_out, violation_diagnostics
from railweave.sonic.delta.merge import MergeDocument, delta_of
from railweave.sonic.delta.steps import Step, steps_of, undo_steps_of
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.configure import configure
from railweave.sonic.rows import DeviceConfig
from railweave.templates import find_templates


def configure_all(fabric: Fabric) -> Iterator[DeviceConfig]:
    return (configure(fabric, switch, find_templates()) for switch in fabric.switches)


def config_db_json(config: DeviceConfig) -> bytes:
    return orjson.dumps(config.config_db(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def apply_steps(merge: MergeDocument, running: RunningConfig) -> tuple[Step, ...]:
    return steps_of(delta_of(merge, running), running)


def rollback_steps(merge: MergeDocument, running: RunningConfig) -> tuple[Step, ...]:
    return undo_steps_of(delta_of(merge, running), running)


def plan_waves(
    fabric: Fabric,
    changed: Collection[str],
    disruptive: Collection[str] = (),
    policy: RolloutPolicy = DEFAULT_POLICY,
    *,
    unprovisioned: Collection[str] = (),
    two_sided: Collection[Link] = (),
) -> tuple[Wave, ...]:
    gate = WaveGate(fabric, policy, disruptive=disruptive, unprovisioned=unprovisioned)
    order = lay_out(fabric, changed, gate, wave_size=policy.wave_size, two_sided=two_sided)
    if order.violations:
        raise RefusedError(violation_diagnostics(order.violations, policy))
    return order.waves
