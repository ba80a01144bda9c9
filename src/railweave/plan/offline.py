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
from railweave.sonic.delta.daemon_rows import with_daemon_rows
from railweave.sonic.delta.delta import Sharing
from railweave.sonic.delta.diff import DeviceDiff, diff
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.frr_text import frr_text, own_frr_template
from railweave.sonic.render.metadata import metadata_row
from railweave.sonic.render.own import have_the_same_own, use_of
from railweave.sonic.render.panel_rows import PanelRows
from railweave.sonic.rows import DeviceConfig, Row
from railweave.templates import Templates
from railweave.wording import first_few

_Rows = tuple[tuple[Row, ...], tuple[Row, ...]]
_Texts = tuple[str, str]

_NOTHING = DeviceDiff(Delta(), {}, (), unprovisioned=False)
"""What most devices of a large fabric need."""


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

    ``templates`` are those of ``head``, ``before`` those of ``base``, by default the same. A device that only ``head``
    has starts empty, so it is provisioned; one that only ``base`` has is named in ``gone``.
    No digest stands for what runs, since nothing was read: such a plan is for reading, never for deploying.
    Raises RefusedError when an existing device would be renumbered, unless ``renumber`` allows it.
    """
    same_own = have_the_same_own(base, head)
    if not (renumber or same_own):
        _refuse_renumbering(base, head)
    sides = Configurator(base, before or templates), Configurator(head, templates)
    differences = _Differences(*sides, same_own=same_own)
    readings = {one.name: Reading(differences.of(base.switch_of.get(one.name), one)) for one in head.switches}
    gone = tuple(switch.name for switch in base.switches if switch.name not in head.switch_of)
    return build_plan(head, readings, target="", intent_sha256="", gone=gone, policy=policy)


class _Differences:
    """The differences of switches between two designs of a fabric.

    The values that rendering makes rows and FRR lines of are compared before these are written: most of them are the
    same, and what shared values and overrides change is the same for many switches, so that it is found once.
    """

    def __init__(self, before: Configurator, after: Configurator, *, same_own: bool) -> None:
        self._before, self._after = before, after
        self._same_own = same_own
        self._known: dict[Hashable, DeviceDiff] = {}
        self._stays: dict[tuple[int, int], bool] = {}
        self._share = Sharing()
        self._same_templates = before.templates is after.templates
        own = [own_frr_template(one.templates) for one in (before, after)]
        self._shipped_template = own == [None, None]

    def of(self, old: Switch | None, switch: Switch) -> DeviceDiff:
        """Return what turns ``old``, None for an empty device, into ``switch``."""
        before, after = self._before, self._after
        if old is None:
            return self._diff(RunningConfig({}, ""), after.device(switch))
        frr = self._frr(old, switch)
        shared, extra = (before.shared(old), after.shared(switch)), (before.overrides(old), after.overrides(switch))
        if not self._same_own and before.own(old) != after.own(switch):
            return self._found(old, switch, frr)
        if self._is_equal(*shared) and extra[0] == extra[1]:
            # Of rows that stay only the one that says who the switch is has a say in what its FRR lines mean.
            who = (metadata_row(switch.name, switch.asn, shared[1].settings),)
            return self._found(old, switch, frr, (who, who)) if frr else _NOTHING
        if frr:
            return self._found(old, switch, frr)
        kind = (id(shared[0]), id(shared[1]), use_of(after.fabric, switch), *map(_hashable, extra))
        if kind not in self._known:
            self._known[kind] = self._found(old, switch, None)
        return self._known[kind]

    def _frr(self, old: Switch, switch: Switch) -> _Texts | None:
        """Return the FRR files, None where they are the same; without sessions that both have, where each has lines of
        its own, as in the template of railweave."""
        none = () if self._same_own and self._shipped_template else None
        before, after = bgp_speaker(self._before.fabric, old, none), bgp_speaker(self._after.fabric, switch, none)
        if before == after and (self._same_templates or self._shipped_template):
            return None
        if self._shipped_template:
            before, after = _of_differing_sessions(before, after)
        texts = frr_text(before, self._before.templates), frr_text(after, self._after.templates)
        return None if texts[0] == texts[1] else texts

    def _is_equal(self, before: PanelRows, after: PanelRows) -> bool:
        pair = (id(before), id(after))
        if pair not in self._stays:
            self._stays[pair] = before == after
        return self._stays[pair]

    def _found(self, old: Switch, switch: Switch, frr: _Texts | None, rows: _Rows | None = None) -> DeviceDiff:
        had, has = rows or (self._before.rows(old), self._after.rows(switch))
        had_text, has_text = frr or ("", "")
        running = RunningConfig(with_daemon_rows(DeviceConfig(old.name, had, "").config_db()), had_text)
        return self._diff(running, DeviceConfig(switch.name, has, has_text))

    def _diff(self, running: RunningConfig, intended: DeviceConfig) -> DeviceDiff:
        found = diff(intended.device, running, intended)
        return replace(found, delta=self._share(found.delta))


def _of_differing_sessions(before: BgpSpeaker, after: BgpSpeaker) -> tuple[BgpSpeaker, BgpSpeaker]:
    """Return two speakers without the sessions that are the same in both, as most are. Where the router or a group is
    another one all stay, since they come and go with it."""
    if [before.asn, *(one.name for one in before.groups)] != [after.asn, *(one.name for one in after.groups)]:
        return before, after
    alike = {*before.sessions} & {*after.sessions}
    had, has = (tuple(one for one in each.sessions if one not in alike) for each in (before, after))
    return before._replace(sessions=had), after._replace(sessions=has)


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
