"""Switches that are replaced (RMA), decommissioned or recovered: what they show, and the steps that remain."""

from collections.abc import Sequence
from dataclasses import replace as replaced
from pathlib import Path

from nornir_railweave.device.reading import Comparer
from nornir_railweave.device.trusting import ShownKey, Trust, look
from nornir_railweave.target.connect import run_on
from nornir_railweave.target.model import Target
from nornir_railweave.target.reach import resolve
from nornir_railweave.target.target_file import load_target
from nornir_railweave.tasks import recover_device
from nornir_railweave.tasks.inspect_device import check_in_use, inspect_device
from nornir_railweave.tasks.links_up_towards import links_up_towards
from nornir_railweave.tasks.verifying import verify
from railweave.api.design.intent import designed_at, load_designed
from railweave.api.journal.audit import audited_action
from railweave.api.project import STATE, Project, find_target
from railweave.api.targets.fabric import LiveFabric, connect, live_fabric
from railweave.fabric.model import Fabric
from railweave.fabric.names import known_switches
from railweave.plan.lifecycle import Condition, Leaving, Proof, Use, WorkStep, leaving, proofs, replacement_steps
from railweave.plan.outcome import RecoveryResult

_INTERVAL_S = 1.0
"""Between two readings of the counters."""


def replace(project: Project, target: str, device: str, *, serial: str = "") -> tuple[WorkStep, ...]:
    """Return the steps of replacing ``device``; its present state decides which are done and which one is next.

    ``serial`` is the serial number of the new switch. A device that cannot be read is a state, not an error. Raises
    UsageError for an unknown device.
    """
    fabric = load_designed(project.intent).fabric
    known_switches(fabric, [device])
    condition = _condition(project, fabric, load_target(find_target(target)), device)
    return replacement_steps(fabric, fabric.switch_of[device], condition, target=target, new_serial=serial)


def _condition(project: Project, fabric: Fabric, target: Target, device: str) -> Condition:
    """Return the present state of a device; one with an unknown host key is not logged in to."""
    key = _host_key(fabric, target, device)
    if key is not None and key.trust is Trust.UNREACHABLE:
        return Condition(answers=False, key_known=False)
    if key is not None and key.trust is not Trust.KNOWN:
        return Condition(answers=True, key_known=False)
    return _inspect(project, target.name, device)


def _host_key(fabric: Fabric, target: Target, device: str) -> ShownKey | None:
    """Return the host key that the device shows; None if the target has no file of host keys."""
    reach = resolve(fabric, target, STATE)[device]
    known_hosts = reach.options.get("alt_key_file")
    if known_hosts is None:
        return None
    return look({device: reach}, Path(known_hosts), 1)[0]


def _inspect(project: Project, target: str, device: str) -> Condition:
    """Log in to a device and return its state.

    ``verified`` is None unless the device runs what is intended, because only then it is verified.
    """
    live = live_fabric(project, target)
    fabric = live.designed.fabric
    compare = Comparer(fabric, live.intended)
    with live.progress():
        inspection = run_on(live.nornir, (device,), inspect_device, compare=compare)[device]
        if inspection.error:
            return Condition(answers=False, key_known=True)
        verified = None
        as_intended = not inspection.changes and not inspection.pending
        if inspection.provisioned and as_intended:
            # With its neighbors, which have the other end of each of its links and sessions.
            devices = {device, *fabric.above(device), *fabric.below(device)}
            verified = verify(live.nornir, fabric, devices).ok
    return Condition(
        answers=True,
        key_known=True,
        provisioned=inspection.provisioned,
        as_intended=as_intended,
        drained=inspection.drained,
        verified=verified,
        serial=inspection.serial,
    )


def retire(
    project: Project, target: str, base: str, head: str = "", *, wait_s: float = 5
) -> tuple[Leaving, tuple[Proof, ...]]:
    """Return what leaves the fabric between two git revisions of the intent, and the proofs that switches are unused.

    Each switch that leaves has proofs; nodes and cables have none. ``wait_s`` is the longest wait for idle ports, in
    seconds. Raises RefusedError if one of the two revisions has errors, UsageError for an unknown target.
    """
    before = designed_at(base, project.intent)
    after = designed_at(head, project.intent)
    removal = leaving(before.fabric, after.fabric)
    # Before the return below, so that an unknown target is refused even if no switch leaves.
    live = connect(project, before, target)
    if not removal.switches:
        return removal, ()
    with live.progress():
        uses = switch_uses(live, removal, wait_s)
    return removal, proofs(before.fabric, removal, uses)


def switch_uses(live: LiveFabric, removal: Leaving, wait_s: float) -> dict[str, Use]:
    """Read the switches that leave, and the neighbors of those that do not answer; return their use by name.

    ``wait_s`` is the longest wait for idle ports, in seconds.
    """
    fabric = live.designed.fabric
    names = [switch.name for switch in removal.switches]
    uses: dict[str, Use] = run_on(
        live.nornir,
        names,
        check_in_use,
        ports_of={name: frozenset(port.name for port in fabric.ports_of[name]) for name in names},
        hosts_of={name: _hosts_by_port(fabric, name) for name in names},
        packets_per_s=live.target.rollout.quiet_packets_per_s,
        timeout_s=wait_s,
        interval_s=_INTERVAL_S,
    )
    unreachable = [name for name, use in uses.items() if use.error]
    # What an unreachable switch forwards shows only at its neighbors.
    for name, ends in links_up_towards(live.nornir, fabric, unreachable).items():
        uses[name] = replaced(uses[name], far_ends_up=ends)
    return uses


def _hosts_by_port(fabric: Fabric, switch: str) -> dict[str, str]:
    """Return the node at each port of a switch that has one, by SONiC's names of the ports."""
    ports = fabric.ports_of[switch]
    return {ports[link.upper_port].name: link.lower for link in fabric.downlinks_of[switch] if link.is_access}


def recover(
    project: Project, target: str, devices: Sequence[str], *, accept_running: bool = False
) -> tuple[RecoveryResult, ...]:
    """Repair the transaction state of these switches and restore what an unfinished change left; one result each.

    ``accept_running`` keeps what runs where nothing can be restored. A commit that waits for its confirmation is left
    alone. Raises UsageError for unknown names.
    """
    live = live_fabric(project, target)
    fabric = live.designed.fabric
    names = known_switches(fabric, devices)
    command = " ".join(["recover", *names])
    if accept_running:
        command += " --accept-running"
    with audited_action(command, fabric.name, target, live.designed.intent.sha256) as record, live.progress():
        results = recover_device.recover(live.nornir, names, accept_running=accept_running)
        record({result.device: {"outcome": result.outcome.value, "error": result.error} for result in results})
        return results
