"""What is seen of a device on which people work, before they are told what comes next."""

from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.project import STATE, Project, find_target, load_designed
from railweave.api.reaching import ReachedFabric, reached_fabric
from railweave.errors import UsageError
from railweave.plan.replacement import Condition, WorkStep, replacement_steps

if TYPE_CHECKING:
    from nornir_railweave.device.trusting import ShownKey
    from nornir_railweave.target.model import Target
    from railweave.fabric.model import Fabric


def replacement(project: Project, target: str, device: str, new_serial: str) -> tuple[WorkStep, ...]:
    """Return the steps of replacing ``device``, told from what is seen of it now.

    Raises UsageError for an unknown device; what keeps the device from being read is no error, it is what is seen.
    """
    from nornir_railweave.target.target_file import load_target

    fabric = load_designed(project.intent).fabric
    if device not in fabric.switch_of:
        raise UsageError(f"{fabric.name} has no device {device}")
    seen = _condition(project, fabric, load_target(find_target(target)), device)
    return replacement_steps(fabric, fabric.switch_of[device], seen, target=target, new_serial=new_serial)


def _condition(project: Project, fabric: "Fabric", target: "Target", device: str) -> Condition:
    from nornir_railweave.device.trusting import Trust

    shown = _host_key(fabric, target, device)
    if shown is not None and shown.trust is Trust.UNREACHABLE:
        return Condition(answers=False, key_known=False, fault=shown.error)
    if shown is not None and shown.trust is not Trust.KNOWN:
        return Condition(answers=True, key_known=False)
    return _inspected(reached_fabric(project, target.name), device)


def _host_key(fabric: "Fabric", target: "Target", device: str) -> "ShownKey | None":
    """Return the host key that the device shows; None where host keys are not recorded in a file of the target."""
    from nornir_railweave.device.trusting import look
    from nornir_railweave.target.reach import resolve

    reach = resolve(fabric, target, STATE)[device]
    known_hosts = reach.options.get("alt_key_file")
    if known_hosts is None:
        return None
    return look({device: reach}, Path(known_hosts), 1)[0]


def _inspected(reached: ReachedFabric, device: str) -> Condition:
    from nornir_railweave.device.reading import Comparer
    from nornir_railweave.target.connect import only
    from nornir_railweave.tasks.inspect_device import inspect_device
    from nornir_railweave.tasks.verifying import verify

    fabric = reached.designed.fabric
    compare = Comparer(fabric, reached.wanted)
    with reached.progress():
        result = only(reached.nornir, (device,)).run(inspect_device, on_failed=True, compare=compare)[device][0]
        if result.exception is not None:
            raise result.exception
        seen = result.result
        if seen.fault:
            return Condition(answers=False, key_known=True, fault=seen.fault)
        near = (*fabric.above(device), *fabric.below(device))
        verified = None
        if seen.provisioned and not seen.changes:
            verified = verify(reached.nornir, fabric, {device, *near}).ok
    return Condition(
        answers=True,
        key_known=True,
        provisioned=seen.provisioned,
        as_intended=not seen.changes,
        drained=seen.drained,
        verified=verified,
        serial=seen.serial,
    )
