"""Everything that prevents the deployment of a plan, each with its fix."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import Fabric
from railweave.plan.model import DeviceState, Plan
from railweave.plan.moves import find_renumbering, moved_cables
from railweave.plan.stripes import moved_stripe_diagnostics
from railweave.plan.waves import violation_diagnostics
from railweave.sonic.delta.access import access_tables
from railweave.sonic.delta.closing import ClosingPort, closing_ports
from railweave.sonic.delta.conflicts import Conflict
from railweave.sonic.delta.diff import DeviceDiff
from railweave.sonic.delta.rules import lowers_mtu, mtu_bytes_after
from railweave.sonic.delta.subject import SubjectKind
from railweave.wording import command_line, counted, first_few, natural_key


def _phased_deploy_command() -> str:
    """Return the command that deploys in phases, with the intent and the target of the running one."""
    return f"`{command_line('deploy', '--from', 'REV')}`, where REV is the git revision that is deployed"


def leaving_ports(fabric: Fabric, difference: DeviceDiff | None) -> tuple[ClosingPort, ...]:
    """Return the ports of a provisioned device that close and do not lead to a switch that stays in ``fabric``."""
    if difference is None or difference.unprovisioned:
        return ()
    return tuple(port for port in closing_ports(difference.delta) if port.far_end not in fabric.switch_of)


def live_port_diagnostics(plan: Plan) -> Iterator[Diagnostic]:
    """Yield an error if the plan would shut down ports that something still uses."""
    devices: list[str] = []
    far_ends: set[str] = set()
    port_count = 0
    for name, device in plan.devices.items():
        live_ports = device.reading.live_ports
        if live_ports:
            devices.append(name)
            port_count += len(live_ports)
            far_ends.update(port.far_end or f"unknown on {name}:{port.port}" for port in live_ports)
    if not devices:
        return
    verb = "is" if port_count == 1 else "are"
    yield error(
        "RW523",
        f"{counted(port_count, 'port')} of {counted(len(devices), 'switch')} would be shut down permanently, but"
        f" {verb} still in use: {first_few(sorted(far_ends, key=natural_key))}",
        devices=tuple(devices),
        fix=f"take them out of use before their ports close with {_phased_deploy_command()};"
        " or deploy with --remove-live if they may lose these links",
    )


@dataclass(frozen=True, slots=True)
class DeployOptions:
    """What the operator agrees to beside the plan itself, one field for each option of ``deploy``."""

    # Reloads: the data plane of a switch is down for minutes.
    provision: bool = False
    # Identities that change, for which both ends of links have to follow each other.
    renumber: bool = False
    # Remove lossless markings and lower the MTU whatever nodes send, and configure ports before cables are moved.
    single_step: bool = False
    # Remove lossless markings and lower the MTU, as the target has no node that still sends the old values. Cables are
    # no part of it: a simulator's or a lab's stay in their ports until somebody moves them.
    nodes_follow: bool = False
    # Close ports for good that are in use.
    remove_live: bool = False
    # Change who can log in to switches.
    allow_lockout: bool = False
    # Undo a newer or diverged state of the intent (``plan.lineage``).
    discard_newer: bool = False
    # Leave out devices that could not be reached when the plan was made; without it they stop everything.
    skip_unreachable: bool = False
    # Remove unmanaged rows that hold a fabric port. The plan was made with it: its digest and its changes depend on it.
    remove_conflicting: bool = False
    # The GPU nodes have done the phases before, and no job still sends what is dropped.
    nodes_done: bool = False
    # So many devices may fail; None is the target's number.
    max_failures: int | None = None

    @property
    def may_drop_old_values(self) -> bool:
        """Tell whether switches may stop serving a marking or a packet size that nodes may have sent before."""
        return self.single_step or self.nodes_follow


PLAN_ALONE = DeployOptions()
"""Agrees to nothing beyond the plan."""


def check_consent(plan: Plan, consent: DeployOptions) -> tuple[Diagnostic, ...]:
    """Return an error for each reason why ``plan`` must not be carried out under ``consent``; empty if it may be."""
    if not _starts_waves(plan, consent):
        # Violations concern waves, and no wave would begin.
        plan = replace(plan, violations=())
    diagnostics = [*conflicts(plan)]
    if not consent.renumber:
        diagnostics += _renumbering_errors(plan)
        diagnostics += _two_sided_errors(plan)
    if not consent.provision:
        diagnostics += _reload_errors(plan)
    if not consent.may_drop_old_values:
        diagnostics += _removed_marking_errors(plan)
        diagnostics += lowered_mtu(plan)
    if not consent.single_step:
        diagnostics += _cable_move_errors(plan)
    if not consent.remove_live:
        diagnostics += live_port_diagnostics(plan)
    if not consent.allow_lockout:
        diagnostics += access_changes(plan)
    if plan.waiting:
        diagnostics.append(awaiting(plan.waiting))
    return tuple(diagnostics)


def _starts_waves(plan: Plan, consent: DeployOptions) -> bool:
    """Tell whether the deployment begins a wave. Unreachable devices stop it before, unless they are skipped."""
    return consent.skip_unreachable or not plan.names(DeviceState.UNREACHABLE)


def conflicts(plan: Plan) -> tuple[Diagnostic, ...]:
    """Return the errors that no consent allows; `plan` reports them already.

    These are devices that are not what the intent takes them for or that would refuse a reload, unmanaged rows that
    conflict with managed ones, and parts of the rollout policy that no order can keep.
    """
    diagnostics: list[Diagnostic] = []
    for name, device in plan.devices.items():
        for blocker in device.difference.blockers:
            code = blocker.code or "RW509"
            diagnostics.append(error(code, f"{name}: {blocker.message}", devices=(name,), fix=blocker.fix))
    for name, device in plan.devices.items():
        diagnostics += (_conflict_error(name, row) for row in device.difference.conflicts)
    # Floors that are crossed only while links wait for their second end are consented to with --renumber.
    not_consentable = (violation for violation in plan.violations if not violation.two_sided)
    return (*diagnostics, *violation_diagnostics(not_consentable, plan.policy))


def _conflict_error(name: str, row: Conflict) -> Diagnostic:
    """Return the error for an unmanaged row that conflicts with managed ones on the switch ``name``."""
    claim = row.claim
    if row.port:
        claim += ", which the fabric needs"
    return error(
        "RW505",
        f"{name}: {claim}: {row.reason}",
        devices=(name,),
        fix=f"remove {row.subject} on {name}, or plan with --remove-conflicting, which plans its removal",
    )


def _renumbering_errors(plan: Plan) -> Iterable[Diagnostic]:
    """Yield the errors for identities that change on running devices and for stripes that move."""
    renumbered = find_renumbering(plan)
    if renumbered:
        yield error(
            "RW506",
            f"the intent renumbers devices that run: {first_few(renumbered, separator='; ')}",
            devices=tuple(dict.fromkeys(identity.device for identity in renumbered)),
            fix="revert the change of pools, AS number bases, reserve or stripes, or deploy with --renumber",
        )
    yield from moved_stripe_diagnostics(plan.moved_stripes)


def _two_sided_errors(plan: Plan) -> Iterable[Diagnostic]:
    """Return an error for each floor that is crossed while links wait for their second end."""
    two_sided = (violation for violation in plan.violations if violation.two_sided)
    return violation_diagnostics(two_sided, plan.policy)


def _reload_errors(plan: Plan) -> Iterable[Diagnostic]:
    """Yield an error if the plan reloads switches."""
    if plan.reloading:
        effect = "their data plane is down for minutes"
        if all(plan.devices[name].difference.unprovisioned for name in plan.reloading):
            effect = "first provisioning, these switches carry no traffic"
        yield error(
            "RW507",
            f"the plan reloads {first_few(plan.reloading)}: {effect}",
            devices=plan.reloading,
            fix="deploy with --provision if these devices may go down",
        )


def removed_markings(plan: Plan) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return each code point that stops being lossless with the devices on which it does, sorted by code point."""
    devices_of: dict[int, list[str]] = {}
    for name, device in plan.devices.items():
        for dscp in device.difference.lossless_removed:
            devices_of.setdefault(dscp, []).append(name)
    return tuple((dscp, tuple(names)) for dscp, names in sorted(devices_of.items()))


def _removed_marking_errors(plan: Plan) -> Iterable[Diagnostic]:
    """Yield an error for each code point that stops being lossless."""
    for dscp, devices in removed_markings(plan):
        yield error(
            "RW517",
            f"DSCP {dscp} is lossless on {first_few(devices, 1)}, and"
            " would be no more, or on another priority: whatever GPU nodes still send with it would be dropped",
            devices=devices,
            fix=f"go through switches that accept both with {_phased_deploy_command()};"
            " or, where no node sends it any more, deploy with --single-step",
        )


def lowered_mtu(plan: Plan) -> Iterable[Diagnostic]:
    """Yield an error if running switches would accept only smaller packets than before."""
    smallest_mtu_of: dict[str, int] = {}
    for name, delta in plan.deltas.items():
        if plan.devices[name].difference.unprovisioned:
            continue
        sizes = [mtu_bytes_after(change) for change in delta.about(SubjectKind.PORT) if lowers_mtu(change)]
        if sizes:
            smallest_mtu_of[name] = min(sizes)
    if smallest_mtu_of:
        devices = tuple(smallest_mtu_of)
        smallest = min(smallest_mtu_of.values())
        yield error(
            "RW524",
            f"the MTU goes down, to {smallest} bytes on {first_few(devices, 1)}: larger packets that GPU nodes still"
            " send would be dropped",
            devices=devices,
            fix=f"lower the nodes before the switches with {_phased_deploy_command()};"
            " or, where no node sends larger packets any more, deploy with --single-step",
        )


def access_changes(plan: Plan) -> Iterable[Diagnostic]:
    """Yield an error if the plan changes who can log in to switches; railweave's own data-plane ACLs do not count."""
    tables_of: dict[str, Iterable[str]] = {}
    for name, delta in plan.deltas.items():
        tables = access_tables(delta)
        if tables:
            tables_of[name] = tables
    if tables_of:
        devices = tuple(tables_of)
        changed = sorted({table for tables in tables_of.values() for table in tables})
        yield error(
            "RW525",
            f"{', '.join(changed)} would change on {first_few(devices)}: a mistake there locks everybody out of"
            " these switches, railweave too, and they could not be rolled back over the network",
            devices=devices,
            fix="try it on one switch, by an override of its name, with a console at hand: deploy with --allow-lockout;"
            " or take these tables out of `overrides`, and GNMI out of `telemetry`",
        )


def _cable_move_errors(plan: Plan) -> Iterable[Diagnostic]:
    """Yield an error if cables of running leaves have to move."""
    cables = moved_cables(plan)
    if cables:
        cables_per_leaf = Counter(cable.device for cable in cables)
        [(leaf, most)] = cables_per_leaf.most_common(1)
        yield error(
            "RW515",
            f"{len(cables)} cables of leaves that run have to move, {most} of them at {leaf}, and their links would be"
            " down until all are in place",
            devices=tuple(cables_per_leaf),
            fix=f"move them in steps that keep every leaf's other links with {_phased_deploy_command()};"
            " or, where they are moved already or nothing uses the fabric, deploy with --single-step",
        )


def awaiting(names: Sequence[str]) -> Diagnostic:
    """Return the error for commits on ``names`` that await confirmation: it is unknown what these devices will run."""
    return error(
        "RW508",
        f"a commit still awaits confirmation on {', '.join(names)}: "
        "another deployment is running, or one was interrupted",
        devices=tuple(names),
        fix="wait: an interrupted device reverts by itself when its timer expires; then plan again. "
        f"`{command_line('recover', 'DEVICE')}` reverts one that does not",
    )
