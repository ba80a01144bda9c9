"""A plan without devices: what the intent ``head`` would change where the intent ``base`` runs everywhere."""

from railweave.design.renumbering import renumbered
from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric, Switch
from railweave.plan.build import Reading, build_plan
from railweave.plan.model import Plan
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.diff import DeviceDiff, diff
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.configure import Configurator
from railweave.templates import Templates
from railweave.wording import first_few


def plan_offline(
    base: Fabric, head: Fabric, templates: Templates, *, renumber: bool = False, policy: RolloutPolicy = DEFAULT_POLICY
) -> Plan:
    """Return the plan that leads every device from ``base`` to ``head``.

    A device that only ``head`` has starts empty, so it is provisioned; one that only ``base`` has is named in ``gone``.
    No digest stands for what runs, since nothing was read: such a plan is for reading, never for deploying.
    Raises RefusedError when an existing device would be renumbered, unless ``renumber`` allows it.
    """
    if not renumber:
        _refuse_renumbering(base, head)
    before, after = Configurator(base, templates), Configurator(head, templates)
    readings: dict[str, Reading] = {}
    for switch in head.switches:
        old = base.switch_of.get(switch.name)
        readings[switch.name] = Reading(_difference(before, old, after, switch))
    gone = tuple(switch.name for switch in base.switches if switch.name not in head.switch_of)
    return build_plan(head, readings, target="", intent_sha256="", gone=gone, policy=policy)


def _difference(before: Configurator, old: Switch | None, after: Configurator, switch: Switch) -> DeviceDiff:
    """Return what turns ``old``, None for an empty device, into ``switch``."""
    if old is None:
        return diff(switch.name, RunningConfig({}, ""), after.device(switch))
    # Speakers that are equal are put into the same words, which need not be written to be compared.
    routes = before.speaker(old) != after.speaker(switch)
    running = before.device(old) if routes else before.tables(old)
    wanted = after.device(switch) if routes else after.tables(switch)
    if running == wanted:
        # Most devices of a large fabric.
        return DeviceDiff(Delta(), {}, (), unprovisioned=False)
    return diff(switch.name, RunningConfig(running.config_db(), running.frr), wanted)


def _refuse_renumbering(base: Fabric, head: Fabric) -> None:
    found = renumbered(base, head)
    if found:
        raise RefusedError(
            [
                error(
                    "RW506",
                    f"the intent renumbers devices that exist: {first_few(found, separator='; ')}",
                    devices=tuple(dict.fromkeys(one.device for one in found)),
                    fix="revert the change of pools, AS number bases, reserve or stripes, or say --renumber",
                )
            ]
        )
