"""A plan in one sentence, in the words in which a reviewer asks.

``pod1: adds 2 leaves and 64 links; touches 16 spines without disruption; no renumbering; no QoS change.`` Everything
is counted from the changes of the plan itself.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain

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
    """Return the impact of ``change`` and those like it in the words of the headline; ``none`` where it has none."""
    if worst is Disruption.NONE:
        return worst.value
    if worst is Disruption.FLAP and effect_is_unknown(change):
        return UNKNOWN
    return impact(worst, (change,))


def impact(worst: Disruption, changes: Iterable[Change]) -> str:
    """Return what the worst disruption among ``changes`` means to a person."""
    disturbing = [change for change in changes if change.disruption is worst]
    for disruption, applies, words in _SPECIAL_WORDS:
        if worst is disruption and all(map(applies, disturbing)):
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
    """Return one sentence that says what will happen."""
    clauses = list(_first(_taken_out(plan)))
    if plan.deltas:
        clauses = [*_first(_added(plan)), *clauses]
        running = [name for name in plan.names(DeviceState.CHANGED) if not plan.devices[name].difference.unprovisioned]
        if running:
            clauses += _of_running(plan, running)
    else:
        clauses += _unchanged(plan)
    return f"{plan.fabric}: {'; '.join([*clauses, *_of_nodes(plan), *_unread(plan)])}."


def _of_nodes(plan: Plan) -> Iterable[str]:
    nodes = {node for file in plan.node_files for node in file.nodes}
    if nodes:
        yield f"templates change {counted(len(plan.node_files), 'file')} of {counted(len(nodes), 'node')}"


def _unread(plan: Plan) -> Iterable[str]:
    """Yield what limits a plan: devices that were not read, that may revert, or whose daemons do not run."""
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


def _of_running(plan: Plan, running: Collection[str]) -> Iterable[str]:
    yield _touched(plan, running)
    yield from _moved(plan)
    yield from _speeds(plan, running)
    yield _qos(plan, running)


def _first(clause: str) -> Sequence[str]:
    if not clause:
        return ()
    return (clause,)


def _unchanged(plan: Plan) -> Iterable[str]:
    """Yield that nothing changes; says nothing about devices that were not read."""
    count = sum(map(plan.includes, plan.names(DeviceState.UNCHANGED)))
    if plan.is_offline:
        yield f"no changes: both intents configure {counted(count, 'device')} alike"
    elif count:
        verb = "is" if count == 1 else "are"
        yield f"no changes, {counted(count, 'device')} {verb} as intended"
    else:
        yield "nothing is known of what runs"


def _added(plan: Plan) -> str:
    """Return the clause of switches and links that are added, empty if there are none."""
    fresh = [name for name in plan.deltas if plan.devices[name].difference.unprovisioned]
    links, nodes = _links(plan, Op.ADD)
    parts = [*_roles(plan.devices[name].role for name in fresh), *_link_words(links, nodes)]
    if not parts:
        return ""
    return f"adds {listed(parts)}"


def _taken_out(plan: Plan) -> str:
    """Return the clause of switches and links that the intent no longer has, empty if there are none."""
    types = _types_of_removed(plan)
    left = [name for name, kind in types.items() if kind != _NODE and name not in plan.devices]
    gone = dict.fromkeys((*plan.gone, *left))
    links, nodes = _links(plan, Op.REMOVE)
    roles = (_ROLE_OF_TYPE.get(types.get(name, ""), "switch") for name in gone)
    parts = [*_roles(roles), *_link_words(links, nodes)]
    if not parts:
        return ""
    return f"removes {listed(parts)}"


def _types_of_removed(plan: Plan) -> dict[str, str]:
    """Return the neighbors whose rows are removed, with their types in DEVICE_NEIGHBOR_METADATA."""
    types = {}
    for name, delta in plan.deltas.items():
        # The sample configuration of a factory has neighbors that never existed.
        if plan.devices[name].difference.unprovisioned:
            continue
        for change in delta.about(SubjectKind.NEIGHBOR):
            if change.op is Op.REMOVE and change.before:
                types[change.subject.name] = _type(change)
    return types


def _links(plan: Plan, op: Op) -> tuple[int, int]:
    """Return the links between switches, and those to GPU nodes, of which rows come or go.

    A link between switches is counted at one end or at both; several between the same two are as many as an end has.
    """
    ends: Counter[tuple[str, str]] = Counter()
    for name, delta in plan.deltas.items():
        far_of = _far_of_unprovisioned if plan.devices[name].difference.unprovisioned else _far
        ends.update((name, far_of(change, op)) for change in delta.about(SubjectKind.LINK))
    pairs: Counter[frozenset[str]] = Counter()
    for (device, far), count in ends.items():
        if far:
            pair = frozenset((device, far))
            pairs[pair] = max(pairs[pair], count)
    for pair in _moved_pairs(plan, op):
        # A cable that moves goes from one place and comes to another; it is neither removed nor added.
        pairs[pair] = max(pairs[pair] - 1, 0)
    switches = {*plan.devices, *plan.gone, *_switches_among_neighbors(plan)}
    links = sum(count for pair, count in pairs.items() if pair <= switches)
    return links, pairs.total() - links


def _switches_among_neighbors(plan: Plan) -> Iterable[str]:
    """Yield the neighbors of changed rows that are switches by their type."""
    for delta in plan.deltas.values():
        for change in delta.about(SubjectKind.NEIGHBOR):
            if _type(change) in _ROLE_OF_TYPE:
                yield change.subject.name


def _moved_pairs(plan: Plan, op: Op) -> Iterable[frozenset[str]]:
    """Yield the two devices of each cable that moves: for an addition those afterwards, for a removal those before."""
    for cable in moved_cables(plan):
        device = cable.device
        far = cable.before
        if op is Op.ADD:
            device = cable.end_after.rpartition(":")[0] or device
            far = cable.after
        yield frozenset((device, far.rpartition(":")[0]))


def _type(change: Change) -> str:
    """Return the neighbor's type in a row of DEVICE_NEIGHBOR_METADATA; empty for the change of a single field."""
    row = change.after if change.op is Op.ADD else change.before
    if row is None or isinstance(row, str | tuple):
        return ""
    return str(row.get("type", ""))


def _far(change: Change, op: Op) -> str:
    """Return the far end of a link whose row comes or goes as ``op`` says; else empty."""
    if change.op is not op or change.field is not None:
        return ""
    return change.subject.name


def _far_of_unprovisioned(change: Change, op: Op) -> str:
    """Return the far end of a link that a switch gets with its first configuration; else empty."""
    # A factory's sample configuration names neighbors too: its rows are no links, and are changed in place.
    if op is Op.REMOVE or change.op is Op.REMOVE:
        return ""
    if change.field is not None:
        return change.subject.name
    return _far(change, op)


def _link_words(links: int, nodes: int) -> Iterable[str]:
    if links:
        yield counted(links, "link")
    if nodes:
        yield counted(nodes, "node port")


def unprotected(plan: Plan, names: Iterable[str]) -> str:
    """Return what the removal of lossless markings from switches means to packets; empty if none is removed."""
    # No switch is disrupted by it, so the disruption of a plan does not show it.
    codes = sorted({dscp for name in names for dscp in plan.devices[name].difference.lossless_removed})
    if not codes:
        return ""
    return f"packets of DSCP {listed(list(map(str, codes)))} may be dropped"


def _touched(plan: Plan, running: Collection[str]) -> str:
    what = f"touches {listed(_roles(plan.devices[name].role for name in running))}"
    worst = _worst(plan, running)
    effects = []
    if worst is not Disruption.NONE:
        disruptive = [name for name in running if plan.devices[name].disruptive]
        if not disruptive:
            return f"{what}, disrupting only links that are {_what_goes(plan)}"
        effect = impact(worst, chain.from_iterable(plan.deltas[name] for name in running))
        if len(disruptive) < len(running):
            effect += f" on {len(disruptive)}"
        effects.append(effect)
    # Removed lossless markings drop packets without disrupting a switch.
    effects += _first(unprotected(plan, running))
    if not effects:
        return f"{what} without disruption"
    return f"{what} ({', '.join(effects)})"


def _worst(plan: Plan, names: Iterable[str]) -> Disruption:
    """Return the worst disruption on switches."""
    disruptions = chain.from_iterable(plan.deltas[name].disruptions for name in names)
    return max(disruptions, key=DISRUPTION_RANK.__getitem__)


def _what_goes(plan: Plan) -> str:
    """Return what happens to links whose ports change or close."""
    if not moved_cables(plan):
        return "removed"
    if any(_links(plan, Op.REMOVE)):
        return "removed or moved"
    return "moved"


def _moved(plan: Plan) -> Iterable[str]:
    """Yield which cables move and which identities change; a reviewer wants to read that none does."""
    cables = moved_cables(plan)
    if cables:
        yield f"moves {counted(len(cables), 'cable')}"
    renumbered = find_renumbering(plan)
    addresses = [identity for identity in renumbered if identity.what != "AS number"]
    if len(addresses) < len(renumbered):
        yield f"changes {counted(len(renumbered) - len(addresses), 'AS number')}"
    if addresses:
        yield f"changes {counted(len(addresses), 'address')}"
    elif renumbered:
        yield "no new address"
    else:
        yield "no renumbering"


def _speeds(plan: Plan, running: Collection[str]) -> Iterable[str]:
    updated: Counter[str | None] = Counter()
    for name in running:
        ports = plan.deltas[name].about(SubjectKind.PORT)
        updated.update(change.field for change in ports if change.op is Op.UPDATE)
    if updated["speed"]:
        yield f"changes the speed of {counted(updated['speed'], 'port')}"
    # Field of BREAKOUT_CFG.
    if updated["brkout_mode"]:
        yield f"changes the breakout of {counted(updated['brkout_mode'], 'port')}"


def _qos(plan: Plan, running: Collection[str]) -> str:
    touched = {name for name in running if _changes_qos(plan.deltas[name])}
    if not touched:
        return "no QoS change"
    return f"changes QoS on {listed(_roles(plan.devices[name].role for name in plan.devices if name in touched))}"


def _changes_qos(delta: Delta) -> bool:
    """Tell whether classes are treated otherwise; those of a port come and go with its link, which is no change."""
    linked = {change.subject.port for change in delta.about(SubjectKind.LINK) if change.field is None}
    return any(change.subject.port not in linked for change in delta.about(SubjectKind.CLASS))


def _roles(roles: Iterable[str]) -> list[str]:
    return [counted(count, role) for role, count in Counter(roles).items()]
