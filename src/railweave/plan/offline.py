"""A plan without devices: what the intent ``head`` would change where the intent ``base`` runs everywhere."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from dataclasses import replace
from typing import NamedTuple

from railweave.design.renumbering import renumbered
from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.plan.build import build_plan
from railweave.plan.model import NodeFile, Plan, Reading
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy
from railweave.plan.stripes import moved_between, moved_stripe_diagnostics
from railweave.routing.instance import BgpSpeaker, bgp_speaker
from railweave.sonic.delta.daemon_rows import with_daemon_rows
from railweave.sonic.delta.delta import Sharing
from railweave.sonic.delta.diff import NO_DIFFERENCE, DeviceDiff, diff
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.frr_text import frr_text, own_frr_template
from railweave.sonic.render.metadata import metadata_row
from railweave.sonic.render.own import have_the_same_own, use_of
from railweave.sonic.render.panel_rows import PanelRows
from railweave.sonic.rows import DeviceConfig, Row
from railweave.templates import Templates
from railweave.wording import first_few


class _RowsOfBoth(NamedTuple):
    """Rows of a switch in both designs."""

    before: tuple[Row, ...]
    after: tuple[Row, ...]


class _FrrOfBoth(NamedTuple):
    """FRR's lines of a switch in both designs."""

    before: str
    after: str


def plan_offline(
    base: Fabric,
    head: Fabric,
    templates: Templates,
    *,
    before: Templates | None = None,
    renumber: bool = False,
    policy: RolloutPolicy = DEFAULT_POLICY,
) -> Plan:
    """Return the plan that leads every device from ``base`` to ``head``.

    ``templates`` are those of ``head``; ``before`` are those of ``base``, by default the same. A device that only
    ``head`` has starts empty, so it is provisioned; one that only ``base`` has is named in ``gone``. Nothing is read
    from devices, so the plan has no digest of what runs and cannot be deployed. Raises RefusedError if an existing
    device would be renumbered, unless ``renumber`` allows it.
    """
    same_own = have_the_same_own(base, head)
    if not (renumber or same_own):
        _refuse_renumbering(base, head)
    differences = _Differences(
        Configurator(base, before or templates), Configurator(head, templates), same_own=same_own
    )
    readings = {}
    for switch in head.switches:
        old = base.switch_of.get(switch.name)
        readings[switch.name] = Reading(differences.of(old, switch))
    gone = tuple(switch.name for switch in base.switches if switch.name not in head.switch_of)
    plan = build_plan(head, readings, target="", intent_sha256="", gone=gone, policy=policy)
    if before is None or before is templates:
        return plan
    return replace(plan, node_files=_node_files(head, before, templates))


def changed_switches(
    base: Fabric, head: Fabric, templates: Templates, *, before: Templates | None = None
) -> frozenset[str]:
    """Return the switches of ``head`` that ``base`` configures otherwise or does not have.

    The arguments are as in ``plan_offline``.
    """
    differences = _Differences(
        Configurator(base, before or templates),
        Configurator(head, templates),
        same_own=have_the_same_own(base, head),
    )
    changed = set()
    for switch in head.switches:
        old = base.switch_of.get(switch.name)
        if differences.of(old, switch).delta:
            changed.add(switch.name)
    return frozenset(changed)


def _node_files(fabric: Fabric, before: Templates, after: Templates) -> tuple[NodeFile, ...]:
    """Return the files of GPU nodes that differ between two sets of templates."""
    # Late: the renderer of nodes needs the catalog, and nearly no change is about templates.
    from railweave.hosts.changed_templates import files_by_templates

    nodes_of = files_by_templates(fabric, before, after)
    return tuple(NodeFile(name, tuple(nodes)) for name, nodes in nodes_of.items())


class _Differences:
    """The differences of switches between two designs of a fabric.

    For speed, the values that rows and FRR lines are rendered from are compared first, since most of them are equal.
    The effect of shared values and overrides is the same for many switches and is computed once.
    """

    def __init__(self, before: Configurator, after: Configurator, *, same_own: bool) -> None:
        self._before = before
        self._after = after
        self._same_own = same_own
        self._cached: dict[Hashable, DeviceDiff] = {}
        self._is_pair_equal: dict[tuple[int, int], bool] = {}
        self._changes_sessions: dict[Hashable, bool] = {}
        self._share = Sharing()
        self._same_templates = before.templates is after.templates
        own_templates = [own_frr_template(before.templates), own_frr_template(after.templates)]
        self._shipped_template = own_templates == [None, None]

    def of(self, old: Switch | None, switch: Switch) -> DeviceDiff:
        """Return the changes that turn ``old`` into ``switch``; ``old`` is None for a switch that starts empty."""
        before = self._before
        after = self._after
        if old is None:
            return self._diff(RunningConfig({}, ""), after.device(switch))
        frr = self._changed_frr(old, switch)
        if self._own_differs(old, switch):
            return self._compared(old, switch, frr)
        shared_before = before.shared(old)
        shared_after = after.shared(switch)
        overrides_before = before.overrides(old)
        overrides_after = after.overrides(switch)
        has_same_rows = self._is_equal(shared_before, shared_after) and overrides_before == overrides_after
        if has_same_rows and frr is None:
            return NO_DIFFERENCE
        if has_same_rows:
            # Of all unchanged rows, only the switch's identity decides what its FRR lines mean.
            identity = (metadata_row(switch.name, switch.asn, shared_after.settings),)
            return self._compared(old, switch, frr, _RowsOfBoth(identity, identity))
        if frr is not None:
            # FRR's lines are the switch's own, so the result is of no use for another switch.
            return self._compared(old, switch, frr)
        # Switches that share all of this get equal changes. Configurators keep their panel rows, so an identity cannot
        # come to mean another object.
        kind = (
            id(shared_before),
            id(shared_after),
            use_of(after.fabric, switch),
            _hashable(overrides_before),
            _hashable(overrides_after),
        )
        if kind not in self._cached:
            self._cached[kind] = self._compared(old, switch, None)
        return self._cached[kind]

    def _own_differs(self, old: Switch, switch: Switch) -> bool:
        """Tell whether a switch has other values of its own, or lets other packets pass on its node ports."""
        before = self._before
        after = self._after
        if not self._same_own and before.own(old) != after.own(switch):
            return True
        if not before.tenancy and not after.tenancy:
            return False
        filter_before = before.node_filter(old, before.shared(old), before.own(old))
        filter_after = after.node_filter(switch, after.shared(switch), after.own(switch))
        return filter_before != filter_after

    def _changed_frr(self, old: Switch, switch: Switch) -> _FrrOfBoth | None:
        """Return FRR's lines in both designs; None if they are the same.

        With the shipped template, sessions that both designs have are left out if their lines are known to be equal.
        """
        if self._shipped_template:
            before, after = self._speakers(old, switch, all_sessions=False)
            if before == after:
                return None
            if self._changes_all_sessions(old, switch):
                before, after = self._speakers(old, switch, all_sessions=True)
        else:
            before, after = self._speakers(old, switch, all_sessions=True)
            # Different templates may write different lines for equal speakers.
            if before == after and self._same_templates:
                return None
        frr = self._frr_text(before, after)
        if frr.before == frr.after:
            return None
        return frr

    def _speakers(self, old: Switch, switch: Switch, *, all_sessions: bool) -> tuple[BgpSpeaker, BgpSpeaker]:
        """Return the BGP speakers of a switch in both designs, with all sessions or without those that both have."""
        sessions = None
        if self._same_own and not all_sessions:
            # All sessions are the same in both designs, so none has to be computed.
            sessions = ()
        before = bgp_speaker(self._before.fabric, old, sessions)
        after = bgp_speaker(self._after.fabric, switch, sessions)
        if all_sessions:
            return before, after
        return _of_differing_sessions(before, after)

    def _frr_text(self, before: BgpSpeaker, after: BgpSpeaker) -> _FrrOfBoth:
        return _FrrOfBoth(frr_text(before, self._before.templates), frr_text(after, self._after.templates))

    def _changes_all_sessions(self, old: Switch, switch: Switch) -> bool:
        """Tell whether the lines of sessions that both designs have differ, as a template may use values of the intent.

        The answer is the same for all switches of a tier.
        """
        tiers = (old.tier.level, old.tier.entry, switch.tier.level, switch.tier.entry)
        if tiers not in self._changes_sessions:
            whole_speakers = self._speakers(old, switch, all_sessions=True)
            differing_speakers = self._speakers(old, switch, all_sessions=False)
            if whole_speakers == differing_speakers:
                # No session was left out for this switch, so it does not answer for its tier.
                return False
            all_changes = _changed_lines(self._frr_text(*whole_speakers))
            self._changes_sessions[tiers] = all_changes != _changed_lines(self._frr_text(*differing_speakers))
        return self._changes_sessions[tiers]

    def _is_equal(self, before: PanelRows, after: PanelRows) -> bool:
        pair = (id(before), id(after))
        if pair not in self._is_pair_equal:
            self._is_pair_equal[pair] = before == after
        return self._is_pair_equal[pair]

    def _compared(
        self, old: Switch, switch: Switch, frr: _FrrOfBoth | None, rows: _RowsOfBoth | None = None
    ) -> DeviceDiff:
        """Return the difference of two devices. By default all rows are compared, and no FRR lines."""
        if rows is None:
            rows = _RowsOfBoth(self._before.rows(old), self._after.rows(switch))
        if frr is None:
            frr = _FrrOfBoth("", "")
        config_db = with_daemon_rows(DeviceConfig(old.name, rows.before, "").config_db())
        return self._diff(RunningConfig(config_db, frr.before), DeviceConfig(switch.name, rows.after, frr.after))

    def _diff(self, running: RunningConfig, intended: DeviceConfig) -> DeviceDiff:
        difference = diff(intended.device, running, intended)
        return replace(difference, delta=self._share(difference.delta))


def _changed_lines(frr: _FrrOfBoth) -> tuple[Counter[str], Counter[str]]:
    """Return how often each line is removed, and how often each is added."""
    lines_before = Counter(frr.before.splitlines())
    lines_after = Counter(frr.after.splitlines())
    return lines_before - lines_after, lines_after - lines_before


def _of_differing_sessions(before: BgpSpeaker, after: BgpSpeaker) -> tuple[BgpSpeaker, BgpSpeaker]:
    """Return two speakers without the sessions that are equal in both, as most are."""
    # FRR removes the lines of a session with its router or peer group, so no session is left out if these differ.
    if _router_and_groups(before) != _router_and_groups(after):
        return before, after
    equal = {*before.sessions} & {*after.sessions}
    return _without_sessions(before, equal), _without_sessions(after, equal)


def _router_and_groups(speaker: BgpSpeaker) -> list[object]:
    return [speaker.asn, *(group.name for group in speaker.groups)]


def _without_sessions(speaker: BgpSpeaker, sessions: Collection[object]) -> BgpSpeaker:
    return speaker._replace(sessions=tuple(session for session in speaker.sessions if session not in sessions))


def _hashable(rows: Iterable[Row]) -> Hashable:
    return tuple((row.table, row.key, tuple(sorted(row.fields.items())), row.why, row.about) for row in rows)


def _refuse_renumbering(base: Fabric, head: Fabric) -> None:
    """Raise RefusedError if devices or nodes that both designs have would be renumbered."""
    # Nodes on other leaves have other addresses, which need no error of their own.
    moved = tuple(moved_stripe_diagnostics(moved_between(base, head)))
    if moved:
        raise RefusedError(moved)
    identities = renumbered(base, head)
    if identities:
        raise RefusedError(
            [
                error(
                    "RW506",
                    f"the intent renumbers devices that exist: {first_few(identities, separator='; ')}",
                    devices=tuple(dict.fromkeys(identity.device for identity in identities)),
                    fix="revert the change of pools, AS number bases, reserve or stripes, or say --renumber",
                )
            ]
        )
