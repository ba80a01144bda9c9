"""A plan without devices: what the intent ``head`` would change where the intent ``base`` runs everywhere."""

from railweave.design.renumbering import renumbered
from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.build import Reading, build_plan
from railweave.plan.model import Plan
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy
from railweave.sonic.change import Delta
from railweave.sonic.configure import Configurator
from railweave.sonic.diff import DeviceDiff, diff
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import DeviceConfig
from railweave.templates import Templates

_SHOWN = 8


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
        wanted = after.device(switch)
        old = base.switch_of.get(switch.name)
        running = before.device(old) if old is not None else None
        readings[switch.name] = Reading(_difference(running, wanted))
    gone = tuple(switch.name for switch in base.switches if switch.name not in head.switch_of)
    return build_plan(head, readings, target="", intent_sha256="", gone=gone, policy=policy)


def _difference(running: DeviceConfig | None, wanted: DeviceConfig) -> DeviceDiff:
    """Return what turns ``running``, None for an empty device, into ``wanted``."""
    if running is None:
        return diff(wanted.device, RunningConfig({}, ""), wanted)
    if running == wanted:
        # Most devices of a large fabric: nothing of theirs has to be parsed.
        return DeviceDiff(Delta(), {}, (), unprovisioned=False)
    return diff(wanted.device, RunningConfig(running.config_db(), running.frr), wanted)


def _refuse_renumbering(base: Fabric, head: Fabric) -> None:
    found = renumbered(base, head)
    if found:
        shown = "; ".join(str(one) for one in found[:_SHOWN])
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise RefusedError(
            [
                error(
                    "RW506",
                    f"the intent renumbers devices that exist: {shown}{more}",
                    devices=tuple(dict.fromkeys(one.device for one in found)),
                    fix="take back the change of pools, AS number bases, reserve or stripes, or say --renumber",
                )
            ]
        )
