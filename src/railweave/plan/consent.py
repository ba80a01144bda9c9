"""Everything that prevents the deployment of a plan, each with its fix."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import Fabric
from railweave.plan.model import DeviceState, Plan
from railweave.plan.moves import find_renumbering, moved_cables
from railweave.plan.waves import violation_diagnostics
from railweave.sonic.delta.access import access_tables
from railweave.sonic.delta.closing import ClosingPort, closing_ports
from railweave.sonic.delta.diff import DeviceDiff
from railweave.sonic.delta.methods import lowers_mtu, mtu_bytes_after
from railweave.sonic.delta.subject import SubjectKind
from railweave.wording import command_line, counted, first_few, natural_key


def _in_phases() -> str:
    return f"`{command_line('deploy', '--from', 'REV')}`, REV being what runs"


def leaving_ports(fabric: Fabric, difference: DeviceDiff | None) -> tuple[ClosingPort, ...]:
    """Return the ports of a provisioned device that close and do not lead to a switch that stays in ``fabric``."""
    if difference is None or difference.unprovisioned:
        return ()
    return tuple(one for one in closing_ports(difference.delta) if one.far_end not in fabric.switch_of)


def live_port_diagnostics(plan: Plan) -> Iterator[Diagnostic]:
    """Yield an error where ports would close that something still uses."""
    live = [(name, one) for name, device in plan.devices.items() for one in device.live_ports]
    if not live:
        return
    devices = tuple(dict.fromkeys(name for name, _ in live))
    far_ends = sorted({one.far_end or f"unknown on {name}:{one.port}" for name, one in live}, key=natural_key)
    yield error(
        "RW523",
        f"{counted(len(live), 'port')} of {counted(len(devices), 'switch')} would close for good while"
        f" something uses {'it' if len(live) == 1 else 'them'}: {first_few(far_ends)}",
        devices=devices,
        fix=f"take them out of use before their ports close with {_in_phases()};"
        " or deploy with --remove-live if they may lose these links",
    )


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person agreed to beyond an ordinary change: reloads, and identities that change, for which both ends of
    links have to follow each other. ``single_step`` takes lossless markings from switches whatever the GPU nodes send,
    lowers their MTU likewise, and configures ports for cables that are yet to be moved. ``remove_live`` closes ports
    for good that are in use. ``allow_lockout`` changes who can log in to switches. ``discard_newer`` undoes what a
    newer or another state of the intent brought (``plan.lineage``).
    """

    provision: bool = False
    renumber: bool = False
    single_step: bool = False
    remove_live: bool = False
    allow_lockout: bool = False
    discard_newer: bool = False


def check_consent(plan: Plan, consent: Consent, *, skip_unreachable: bool = True) -> tuple[Diagnostic, ...]:
    """Return why ``plan`` must not be carried out under ``consent``; nothing where it may.

    Without ``skip_unreachable`` a plan with an unreachable device stops before its first wave, so no wave is judged.
    """
    if not skip_unreachable and plan.names(DeviceState.UNREACHABLE):
        plan = replace(plan, violations=())
    return (
        *conflicts(plan),
        *_renumberings(plan, consent),
        *_partings(plan, consent),
        *_reloads(plan, consent),
        *_markings(plan, consent),
        *(() if consent.single_step else lowered_mtu(plan)),
        *_moves(plan, consent),
        *(() if consent.remove_live else live_port_diagnostics(plan)),
        *(() if consent.allow_lockout else access_changes(plan)),
        *_pending(plan),
    )


def conflicts(plan: Plan) -> tuple[Diagnostic, ...]:
    """Return why parts of ``plan`` cannot be carried out whatever is agreed to; these are errors of planning already.

    A device that is not what the intent takes it for or that would refuse a reload, unmanaged rows that conflict with
    managed ones, and a rollout policy that no order can keep.
    """
    refused = tuple(
        error(one.code or "RW509", f"{name}: {one.message}", devices=(name,), fix=one.fix)
        for name, device in plan.devices.items()
        for one in device.blockers
    )
    rows = tuple(
        error(
            "RW505",
            f"{name}: {one.claim}{', which the fabric needs' if one.port else ''}: {one.reason}",
            devices=(name,),
            fix=f"remove {one.subject} on {name}, or plan with --remove-conflicting, which plans its removal",
        )
        for name, device in plan.devices.items()
        for one in device.conflicts
    )
    return (*refused, *rows, *violation_diagnostics((one for one in plan.violations if not one.two_sided), plan.policy))


def _renumberings(plan: Plan, consent: Consent) -> Iterable[Diagnostic]:
    found = () if consent.renumber else find_renumbering(plan)
    if found:
        devices = tuple(dict.fromkeys(one.device for one in found))
        yield error(
            "RW506",
            f"the intent renumbers devices that run: {first_few(found, separator='; ')}",
            devices=devices,
            fix="revert the change of pools, AS number bases, reserve or stripes, or deploy with --renumber",
        )


def _partings(plan: Plan, consent: Consent) -> Iterable[Diagnostic]:
    """Return the floors that are crossed while links wait for their second end; a renumbering is agreed to as one."""
    two_sided = () if consent.renumber else tuple(one for one in plan.violations if one.two_sided)
    return violation_diagnostics(two_sided, plan.policy)


def _reloads(plan: Plan, consent: Consent) -> Iterable[Diagnostic]:
    reloading = () if consent.provision else plan.reloading
    if reloading:
        yield error(
            "RW507",
            f"the plan reloads {first_few(reloading)}: their data plane is down for minutes",
            devices=reloading,
            fix="deploy with --provision if these devices may go down",
        )


def removed_markings(plan: Plan) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the code points with the devices on which they are lossless and would be no longer, ascending."""
    found: dict[int, list[str]] = {}
    for name, device in plan.devices.items():
        for dscp in device.lossless_removed:
            found.setdefault(dscp, []).append(name)
    return tuple((dscp, tuple(names)) for dscp, names in sorted(found.items()))


def _markings(plan: Plan, consent: Consent) -> Iterable[Diagnostic]:
    found = () if consent.single_step else removed_markings(plan)
    for dscp, devices in found:
        yield error(
            "RW517",
            f"DSCP {dscp} is lossless on {first_few(devices, 1)}, and"
            " would be no more, or on another priority: whatever GPU nodes still send with it would be dropped",
            devices=devices,
            fix=f"go through switches that accept both with {_in_phases()};"
            " or, where no node sends it any more, deploy with --single-step",
        )


def lowered_mtu(plan: Plan) -> Iterable[Diagnostic]:
    """Yield that running switches would take smaller packets, whatever the GPU nodes still send."""
    lowered = {
        name: min(sizes)
        for name, delta in plan.deltas.items()
        if not plan.devices[name].unprovisioned
        and (sizes := [mtu_bytes_after(one) for one in delta.about(SubjectKind.PORT) if lowers_mtu(one)])
    }
    if lowered:
        devices = tuple(lowered)
        smallest = min(lowered.values())
        yield error(
            "RW524",
            f"the MTU goes down, to {smallest} bytes on {first_few(devices, 1)}: larger packets that GPU nodes still"
            " send would be dropped",
            devices=devices,
            fix=f"lower the nodes before the switches with {_in_phases()};"
            " or, where no node sends larger packets any more, deploy with --single-step",
        )


def access_changes(plan: Plan) -> Iterable[Diagnostic]:
    """Yield that the plan changes who can log in to switches; data-plane ACLs that it makes itself are none of that."""
    found = {name: one for name, delta in plan.deltas.items() if (one := access_tables(delta))}
    if found:
        devices = tuple(found)
        tables = sorted({table for one in found.values() for table in one})
        yield error(
            "RW525",
            f"{', '.join(tables)} would change on {first_few(devices)}: a mistake there locks everybody out of"
            " these switches, railweave too, and they could not be rolled back over the network",
            devices=devices,
            fix="try it on one switch, by an override of its name, with a console at hand: deploy with --allow-lockout;"
            " or take these tables out of `overrides`",
        )


def _moves(plan: Plan, consent: Consent) -> Iterable[Diagnostic]:
    found = () if consent.single_step else moved_cables(plan)
    if found:
        per_leaf = Counter(cable.device for cable in found)
        leaf, most = per_leaf.most_common(1)[0]
        yield error(
            "RW515",
            f"{len(found)} cables of leaves that run have to move, {most} of them at {leaf}, and their links would be"
            " down until all are in place",
            devices=tuple(per_leaf),
            fix=f"move them in steps that keep every leaf's other links with {_in_phases()};"
            " or, where they are moved already or nothing uses the fabric, deploy with --single-step",
        )


def _pending(plan: Plan) -> Iterable[Diagnostic]:
    if plan.waiting:
        yield awaiting(plan.waiting)


def awaiting(names: Sequence[str]) -> Diagnostic:
    """Return that commits wait for their confirmation on these devices, so that nobody knows what they will run."""
    return error(
        "RW508",
        f"a commit still awaits confirmation on {', '.join(names)}: "
        "another deployment is running, or one was interrupted",
        devices=tuple(names),
        fix="wait: an interrupted device reverts by itself when its timer expires; then plan again. "
        f"`{command_line('recover', 'DEVICE')}` reverts one that does not",
    )
