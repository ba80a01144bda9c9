"""A plan in one sentence, in the words in which a reviewer asks.

``pod1: adds 2 leaves and 64 links; touches 16 spines without disruption; no renumbering; no QoS change.`` Everything
is counted from the changes of the plan itself.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from railweave.fabric.devices import TIER_NAMES
from railweave.plan.model import DISRUPTION_RANK, DeviceState, Plan
from railweave.plan.moves import find_renumbering, moved_cables
from railweave.sonic.delta.change import Change, Delta, Disruption, Op
from railweave.sonic.delta.methods import effect_is_unknown, is_of_the_cpu, sets_queues_anew
from railweave.sonic.delta.rules import lowers_mtu
from railweave.sonic.delta.subject import SubjectKind
from railweave.sonic.render.metadata import SONIC_TYPE
from railweave.wording import compact, counted, listed

WORDS = {
    Disruption.NONE: "no disruption",
    Disruption.SESSION: "BGP sessions reset",
    Disruption.FLAP: "ports flap",
    Disruption.RELOAD: "reload",
}
"""What a disruption means to a person."""

UNKNOWN = "unknown"
"""What a change is called in place of its disruption where no source says what daemons do with it."""
UNKNOWN_WORDS = "written; effect unknown until reload"


FRESH_WORDS = "reload, switch carries no traffic"
"""The impact of first provisioning."""


def disruption_label(change: Change, worst: Disruption) -> str:
    """Return the impact of a group of changes in the words of the headline; ``none`` if they disrupt nothing.

    ``change`` is any of the group, ``worst`` the worst disruption of the group.
    """
    if worst is Disruption.NONE:
        return worst.value
    if worst is Disruption.FLAP and effect_is_unknown(change):
        return UNKNOWN
    return impact(worst, (change,))


def impact(worst: Disruption, changes: Iterable[Change]) -> str:
    """Return what the worst disruption among ``changes`` means to a person."""
    disturbing = [change for change in changes if change.disruption is worst]
    for disruption, is_special, words in _SPECIAL_WORDS:
        if worst is disruption and all(is_special(change) for change in disturbing):
            return words
    return WORDS[worst]


_SPECIAL_WORDS: Sequence[tuple[Disruption, Callable[[Change], bool], str]] = (
    (Disruption.SESSION, lowers_mtu, "larger packets dropped"),
    (Disruption.SESSION, is_of_the_cpu, "packets for the CPU may be dropped"),
    (Disruption.FLAP, sets_queues_anew, "queues lose their buffer or scheduler for a moment"),
    (Disruption.FLAP, effect_is_unknown, UNKNOWN_WORDS),
)
"""Words for a disruption that all changes of a plan share and that is milder, or less certain, than its name."""


_ROLE_OF_TYPE = {SONIC_TYPE[role]: role for role in reversed(TIER_NAMES)}
_NODE = "Server"


def headline(plan: Plan) -> str:
    """Return one sentence that says what ``plan`` changes, and which devices it knows nothing of."""
    clauses = []
    if plan.deltas:
        clauses.append(_added_clause(plan))
    clauses.append(_removed_clause(plan))
    if plan.deltas:
        running = [name for name in plan.names(DeviceState.CHANGED) if not plan.devices[name].difference.unprovisioned]
        if running:
            clauses += _changes_of_running(plan, running)
    else:
        clauses.append(_unchanged_clause(plan))
    clauses += [_node_files_clause(plan), *_limitations(plan)]
    return f"{plan.fabric}: {'; '.join(clause for clause in clauses if clause)}."


def _node_files_clause(plan: Plan) -> str:
    """Return the clause of files of nodes that change, empty if there are none."""
    nodes = {node for file in plan.node_files for node in file.nodes}
    if not nodes:
        return ""
    return f"templates change {counted(len(plan.node_files), 'file')} of {counted(len(nodes), 'node')}"


def _limitations(plan: Plan) -> Iterable[str]:
    """Yield a clause for what limits the plan: devices that were not read, may revert, or whose daemons do not run."""
    assumed = len(plan.assumed_fresh)
    unread = len(plan.names(DeviceState.UNREACHABLE)) - assumed
    if assumed:
        yield f"{counted(assumed, 'switch')} not reachable, planned as factory-fresh"
    if unread:
        yield f"{counted(unread, 'device')} could not be read"
    if plan.since and plan.behind:
        yield f"{counted(len(plan.behind), 'switch')} not read, configured as at {plan.since}"
    elif plan.behind:
        verb = "stays" if len(plan.behind) == 1 else "stay"
        yield f"{counted(len(plan.behind), 'switch')} outside of the limit {verb} behind"
    if plan.waiting:
        yield f"an unconfirmed commit waits on {compact(plan.waiting)}"
    if plan.broken:
        yield f"daemons of {compact(plan.broken)} do not run"


def _changes_of_running(plan: Plan, running: Collection[str]) -> Iterable[str]:
    """Yield the clauses of what changes on the ``running`` switches."""
    yield _touched_clause(plan, running)
    yield from _moved_clauses(plan)
    yield from _speed_clauses(plan, running)
    yield _qos_clause(plan, running)


def _unchanged_clause(plan: Plan) -> str:
    """Return the clause that nothing changes on the devices that were read."""
    count = sum(map(plan.includes, plan.names(DeviceState.UNCHANGED)))
    if plan.is_offline:
        return f"no changes: both intents configure {counted(count, 'device')} alike"
    if not count:
        return "nothing is known of what runs"
    verb = "is" if count == 1 else "are"
    return f"no changes, {counted(count, 'device')} {verb} as intended"


def _added_clause(plan: Plan) -> str:
    """Return the clause of switches and links that are added, empty if there are none."""
    new_switches = [name for name in plan.deltas if plan.devices[name].difference.unprovisioned]
    parts = [*_counted_roles(plan.devices[name].role for name in new_switches), *_changed_links(plan, Op.ADD).words()]
    if not parts:
        return ""
    return f"adds {listed(parts)}"


def _removed_clause(plan: Plan) -> str:
    """Return the clause of switches and links that the intent no longer has, empty if there are none."""
    types = _types_of_removed_neighbors(plan)
    neighbors = [name for name, sonic_type in types.items() if sonic_type != _NODE and name not in plan.devices]
    removed_switches = dict.fromkeys((*plan.gone, *neighbors))
    roles = (_ROLE_OF_TYPE.get(types.get(name, ""), "switch") for name in removed_switches)
    parts = [*_counted_roles(roles), *_changed_links(plan, Op.REMOVE).words()]
    if not parts:
        return ""
    return f"removes {listed(parts)}"


def _types_of_removed_neighbors(plan: Plan) -> dict[str, str]:
    """Return the types in DEVICE_NEIGHBOR_METADATA of the neighbors whose rows are removed, by name."""
    types = {}
    for name, delta in plan.deltas.items():
        # The sample configuration of a factory has neighbors that never existed.
        if plan.devices[name].difference.unprovisioned:
            continue
        for change in delta.about(SubjectKind.NEIGHBOR):
            if change.op is Op.REMOVE and change.before:
                types[change.subject.name] = _neighbor_type(change)
    return types


class _LinkNumbers(NamedTuple):
    """Numbers of links between switches, and of ports to GPU nodes."""

    between_switches: int
    to_nodes: int

    def words(self) -> Iterable[str]:
        """Yield each number with its noun, unless it is 0."""
        if self.between_switches:
            yield counted(self.between_switches, "link")
        if self.to_nodes:
            yield counted(self.to_nodes, "node port")


def _changed_links(plan: Plan, op: Op) -> _LinkNumbers:
    """Return how many links are added, or removed if ``op`` is REMOVE.

    A link has a row at one of its ends or at both, so a pair of devices has as many links as the end with more rows.
    """
    rows_at_end: Counter[tuple[str, str]] = Counter()
    for name, delta in plan.deltas.items():
        far_of = _far_device_of_unprovisioned if plan.devices[name].difference.unprovisioned else _far_device
        rows_at_end.update((name, far_of(change, op)) for change in delta.about(SubjectKind.LINK))
    links_of_pair: Counter[frozenset[str]] = Counter()
    for (device, far), count in rows_at_end.items():
        if far:
            pair = frozenset((device, far))
            links_of_pair[pair] = max(links_of_pair[pair], count)
    # A cable that moves has rows removed at one place and added at another, but is neither removed nor added itself.
    for pair in _pairs_of_moved_cables(plan, op):
        links_of_pair[pair] = max(links_of_pair[pair] - 1, 0)
    switches = {*plan.devices, *plan.gone, *_switches_among_neighbors(plan)}
    between_switches = sum(count for pair, count in links_of_pair.items() if pair <= switches)
    return _LinkNumbers(between_switches, links_of_pair.total() - between_switches)


def _switches_among_neighbors(plan: Plan) -> Iterable[str]:
    """Yield the neighbors of changed rows that are switches by their type."""
    for delta in plan.deltas.values():
        for change in delta.about(SubjectKind.NEIGHBOR):
            if _neighbor_type(change) in _ROLE_OF_TYPE:
                yield change.subject.name


def _pairs_of_moved_cables(plan: Plan, op: Op) -> Iterable[frozenset[str]]:
    """Yield the two devices of each cable that moves: after the move if ``op`` is ADD, else before it."""
    for cable in moved_cables(plan):
        device = cable.device
        far_end = cable.before
        if op is Op.ADD:
            # The own end is empty if it stays.
            device = cable.end_after.rpartition(":")[0] or device
            far_end = cable.after
        far_device = far_end.rpartition(":")[0]
        yield frozenset((device, far_device))


def _neighbor_type(change: Change) -> str:
    """Return the neighbor's type in a row of DEVICE_NEIGHBOR_METADATA; empty for the change of a single field."""
    row = change.after if change.op is Op.ADD else change.before
    if row is None or isinstance(row, str | tuple):
        return ""
    return str(row.get("type", ""))


def _far_device(change: Change, op: Op) -> str:
    """Return the far device of a link whose row is added or removed, as ``op`` says; empty for any other change."""
    if change.op is not op or change.field is not None:
        return ""
    return change.subject.name


def _far_device_of_unprovisioned(change: Change, op: Op) -> str:
    """Return the far device of a link that a switch gets with its first configuration; empty if it gets none."""
    # The rows of a factory's sample neighbors are no links. They may be changed in place, field by field.
    if op is Op.REMOVE or change.op is Op.REMOVE:
        return ""
    if change.field is not None:
        return change.subject.name
    return _far_device(change, op)


def unprotected(plan: Plan, names: Iterable[str]) -> str:
    """Return the effect on packets if switches stop treating markings as lossless; empty if none does."""
    # No switch is disrupted by it, so the disruption of a plan does not show it.
    codes = sorted({dscp for name in names for dscp in plan.devices[name].difference.lossless_removed})
    if not codes:
        return ""
    return f"packets of DSCP {listed(list(map(str, codes)))} may be dropped"


def _touched_clause(plan: Plan, running: Collection[str]) -> str:
    """Return the clause of the ``running`` switches, all of which change, with the effect on traffic."""
    clause = f"touches {listed(_counted_roles(plan.devices[name].role for name in running))}"
    effects = []
    worst = _worst_disruption(plan, running)
    if worst is not Disruption.NONE:
        effect = _effect(plan, running, worst)
        if not effect:
            return f"{clause}, disrupting only links that are {_removed_or_moved(plan)}"
        effects.append(effect)
    # Removed lossless markings drop packets without disrupting a switch.
    dropped_packets = unprotected(plan, running)
    if dropped_packets:
        effects.append(dropped_packets)
    if not effects:
        return f"{clause} without disruption"
    return f"{clause} ({', '.join(effects)})"


def _effect(plan: Plan, running: Collection[str], worst: Disruption) -> str:
    """Return the effect on the running switches that are disrupted.

    Returns an empty text if only links are disrupted that are removed or moved.
    """
    disruptive = [name for name in running if plan.devices[name].disruptive]
    if not disruptive:
        return ""
    effect = impact(worst, chain.from_iterable(plan.deltas[name] for name in running))
    if len(disruptive) < len(running):
        effect += f" on {len(disruptive)}"
    return effect


def _worst_disruption(plan: Plan, names: Iterable[str]) -> Disruption:
    disruptions = chain.from_iterable(plan.deltas[name].disruptions for name in names)
    return max(disruptions, key=DISRUPTION_RANK.__getitem__)


def _removed_or_moved(plan: Plan) -> str:
    """Return what happens to links whose ports change or close."""
    if not moved_cables(plan):
        return "removed"
    if any(_changed_links(plan, Op.REMOVE)):
        return "removed or moved"
    return "moved"


def _moved_clauses(plan: Plan) -> Iterable[str]:
    """Yield how many cables move and identities change.

    Reviewers look for changed identities, so there is a clause if none changes as well.
    """
    cables = moved_cables(plan)
    if cables:
        yield f"moves {counted(len(cables), 'cable')}"
    renumbered = find_renumbering(plan)
    as_numbers = sum(identity.what == "AS number" for identity in renumbered)
    addresses = len(renumbered) - as_numbers
    if as_numbers:
        yield f"changes {counted(as_numbers, 'AS number')}"
    if addresses:
        yield f"changes {counted(addresses, 'address')}"
    elif as_numbers:
        yield "no new address"
    else:
        yield "no renumbering"


def _speed_clauses(plan: Plan, running: Collection[str]) -> Iterable[str]:
    """Yield a clause for ports whose speed changes, and one for ports whose breakout changes."""
    updated: Counter[str | None] = Counter()
    for name in running:
        ports = plan.deltas[name].about(SubjectKind.PORT)
        updated.update(change.field for change in ports if change.op is Op.UPDATE)
    if updated["speed"]:
        yield f"changes the speed of {counted(updated['speed'], 'port')}"
    # Field of BREAKOUT_CFG.
    if updated["brkout_mode"]:
        yield f"changes the breakout of {counted(updated['brkout_mode'], 'port')}"


def _qos_clause(plan: Plan, running: Collection[str]) -> str:
    changed = {name for name in running if _changes_qos(plan.deltas[name])}
    if not changed:
        return "no QoS change"
    roles = (plan.devices[name].role for name in plan.devices if name in changed)
    return f"changes QoS on {listed(_counted_roles(roles))}"


def _changes_qos(delta: Delta) -> bool:
    """Tell whether the treatment of traffic classes changes, other than on ports whose link is added or removed."""
    ports_of_links = {change.subject.port for change in delta.about(SubjectKind.LINK) if change.field is None}
    return any(change.subject.port not in ports_of_links for change in delta.about(SubjectKind.CLASS))


def _counted_roles(roles: Iterable[str]) -> list[str]:
    return [counted(count, role) for role, count in Counter(roles).items()]
