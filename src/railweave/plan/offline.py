"""A plan without devices: what running ``head`` instead of ``base`` would change, as if ``base`` ran everywhere."""

from collections.abc import Callable

from railweave.fabric.model import Fabric
from railweave.plan.build import Reading, build_plan
from railweave.plan.model import Plan
from railweave.sonic.diff import diff, running_sha256
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import DeviceConfig

Configure = Callable[[str], DeviceConfig]
"""A device's name to its wanted configuration."""


def compare_intents(base: Fabric, base_config: Configure, head: Fabric, head_config: Configure, sha256: str) -> Plan:
    """Return the plan from ``base`` to ``head``; ``sha256`` is of the head's intent.

    A device that only ``head`` has starts empty, so it is provisioned; one that only ``base`` has is named in ``gone``.
    """
    readings: dict[str, Reading] = {}
    for switch in head.switches:
        wanted = head_config(switch.name)
        running = _as_running(base_config(switch.name)) if switch.name in base.switch_of else RunningConfig({}, "")
        readings[switch.name] = Reading(diff(switch.name, running, wanted), running_sha256(running, wanted))
    gone = tuple(switch.name for switch in base.switches if switch.name not in head.switch_of)
    return build_plan(head, readings, target="", intent_sha256=sha256, gone=gone)


def _as_running(config: DeviceConfig) -> RunningConfig:
    return RunningConfig(config.config_db(), config.frr)
