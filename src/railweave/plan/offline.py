"""A plan without devices: what the intent ``head`` would change where the intent ``base`` runs everywhere."""

from collections.abc import Hashable, Iterable
from dataclasses import replace

from railweave.design.renumbering import renumbered
from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric, Switch
from railweave.plan.build import Reading, build_plan
from railweave.plan.model import Plan
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy
from railweave.routing.instance import BgpSpeaker, bgp_speaker
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.delta import Sharing
from railweave.sonic.delta.diff import DeviceDiff, diff
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.configure import Configurator, use_of
from railweave.sonic.render.frr_text import frr_text, own_frr_template
from railweave.sonic.render.metadata import metadata_row
from railweave.sonic.render.panel_rows import PanelRows
from railweave.sonic.render.ports import attachments
from railweave.sonic.rows import DeviceConfig, Row
from railweave.templates import Templates
from railweave.wording import first_few

_Rows = tuple[tuple[Row, ...], tuple[Row, ...]]
_Routes = tuple[BgpSpeaker, BgpSpeaker]

_NOTHING = DeviceDiff(Delta(), {}, (), unprovisioned=False)
"""What most devices of a large fabric need."""


def plan_offline(
    base: Fabric, head: Fabric, templates: Templates, *, renumber: bool = False, policy: RolloutPolicy = DEFAULT_POLICY
) -> Plan:
    """Return the plan that leads every device from ``base`` to ``head``.

    A device that only ``head`` has starts empty, so it is provisioned; one that only ``base`` has is named in ``gone``.
    No digest stands for what runs, since nothing was read: such a plan is for reading, never for deploying.
    Raises RefusedError when an existing device would be renumbered, unless ``renumber`` allows it.
    """
    wired_alike = _are_wired_alike(base, head)
    if not (renumber or wired_alike):
        _refuse_renumbering(base, head)
    differences = _Differences(Configurator(base, templates), Configurator(head, templates), wired_alike=wired_alike)
    readings = {one.name: Reading(differences.of(base.switch_of.get(one.name), one)) for one in head.switches}
    gone = tuple(switch.name for switch in base.switches if switch.name not in head.switch_of)
    return build_plan(head, readings, target="", intent_sha256="", gone=gone, policy=policy)


class _Differences:
    """The differences of switches between two designs of a fabric.

    What a switch's rows and FRR lines follow from is compared before they are written: most of it is the same, and what
    panel, tier and overrides change is the same for many switches, so that it is found once.
    """

    def __init__(self, before: Configurator, after: Configurator, *, wired_alike: bool) -> None:
        self._before, self._after = before, after
        self._wired_alike = wired_alike
        self._known: dict[Hashable, DeviceDiff] = {}
        self._stays: dict[tuple[int, int], bool] = {}
        self._share = Sharing()
        self._own_template = own_frr_template(after.templates) is not None

    def of(self, old: Switch | None, switch: Switch) -> DeviceDiff:
        """Return what turns ``old``, None for an empty device, into ``switch``."""
        before, after = self._before, self._after
        if old is None:
            return self._diff(RunningConfig({}, ""), after.device(switch))
        routes = self._routes(old, switch)
        shared, extra = (before.shared(old), after.shared(switch)), (before.overrides(old), after.overrides(switch))
        guarded = (before.guarded(old), after.guarded(switch))
        same_model = shared[0].buffer_model == shared[1].buffer_model
        if not (self._wired_alike and same_model) and before.own(old) != after.own(switch):
            return self._found(old, switch, routes)
        if self._is_equal(*shared) and extra[0] == extra[1] and guarded[0] == guarded[1]:
            # Of rows that stay only the one that says who the switch is has a say in what its FRR lines mean.
            who = (metadata_row(switch, shared[1].buffer_model),)
            return self._found(old, switch, routes, (who, who)) if routes else _NOTHING
        if routes:
            return self._found(old, switch, routes)
        kind = (
            id(shared[0]),
            id(shared[1]),
            use_of(attachments(after.fabric, switch)),
            *map(_hashable, extra),
            guarded,
        )
        if kind not in self._known:
            self._known[kind] = self._found(old, switch, None)
        return self._known[kind]

    def _routes(self, old: Switch, switch: Switch) -> _Routes | None:
        """Return what the FRR files say, None where that is the same; without sessions that both have, where each has
        lines of its own, as in the template of railweave."""
        lines_of_their_own = not self._own_template
        none = () if self._wired_alike and lines_of_their_own else None
        before, after = bgp_speaker(self._before.fabric, old, none), bgp_speaker(self._after.fabric, switch, none)
        if before == after:
            return None
        return _of_differing_sessions(before, after) if lines_of_their_own else (before, after)

    def _is_equal(self, before: PanelRows, after: PanelRows) -> bool:
        pair = (id(before), id(after))
        if pair not in self._stays:
            self._stays[pair] = before == after
        return self._stays[pair]

    def _found(self, old: Switch, switch: Switch, routes: _Routes | None, rows: _Rows | None = None) -> DeviceDiff:
        before, after = self._before, self._after
        had, has = rows or (before.rows(old), after.rows(switch))
        frr = [frr_text(one, after.templates) for one in routes] if routes else ["", ""]
        running = RunningConfig(DeviceConfig(old.name, had, "").config_db(), frr[0])
        return self._diff(running, DeviceConfig(switch.name, has, frr[1]))

    def _diff(self, running: RunningConfig, intended: DeviceConfig) -> DeviceDiff:
        found = diff(intended.device, running, intended)
        return replace(found, delta=self._share(found.delta))


def _of_differing_sessions(before: BgpSpeaker, after: BgpSpeaker) -> _Routes:
    """Return two speakers without the sessions that are the same in both, as most are. Where the router or a group is
    another one all stay, since they come and go with it."""
    if [before.asn, *(one.name for one in before.groups)] != [after.asn, *(one.name for one in after.groups)]:
        return before, after
    alike = {*before.sessions} & {*after.sessions}
    had, has = (tuple(one for one in each.sessions if one not in alike) for each in (before, after))
    return before._replace(sessions=had), after._replace(sessions=has)


def _are_wired_alike(base: Fabric, head: Fabric) -> bool:
    """Tell whether two designs have the same switches, nodes, cables and addresses: then nothing is renumbered, and
    what follows from the cables of a switch is the same."""
    return (base.switches, base.hosts, base.links, base.host_blocks, base.policies.addressing) == (
        head.switches,
        head.hosts,
        head.links,
        head.host_blocks,
        head.policies.addressing,
    )


def _hashable(rows: Iterable[Row]) -> Hashable:
    return tuple((row.table, row.key, tuple(sorted(row.fields.items())), row.why, row.about) for row in rows)


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
