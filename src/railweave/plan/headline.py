"""A plan in one sentence, in the words in which a reviewer asks.

``pod1: adds 2 leaves and 64 links; touches 16 spines without disruption; moves no address; no QoS change.`` Everything
is counted from the changes of the plan itself.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from railweave.fabric.model import TIER_NAMES
from railweave.plan.model import DISRUPTION_RANK, DeviceState, Plan
from railweave.plan.moves import find_renumbering, moved_cables
from railweave.sonic.delta.change import Change, Delta, Disruption, Op
from railweave.sonic.delta.methods import effect_is_unknown, is_of_the_cpu, lowers_mtu, sets_queues_anew
from railweave.sonic.delta.subject import SubjectKind
from railweave.sonic.render.metadata import SONIC_TYPE
from railweave.wording import compact, counted, listed

WORDS = {
    Disruption.NONE: "no disruption",
    Disruption.SESSION: "BGP sessions reset",
    Disruption.FLAP: "ports flap",
    Disruption.RELOAD: "the switch reloads",
}
"""What a disruption means to a person."""

UNKNOWN = "unknown"
"""What a change is called in place of its disruption where no source says what daemons do with it."""
UNKNOWN_WORDS = "written; effect unknown until reload"


def disruption_label(change: Change, worst: Disruption) -> str:
    """Return ``worst``, or the word for an effect that nobody knows, for ``change`` and those like it."""
    if worst is Disruption.FLAP and effect_is_unknown(change):
        return UNKNOWN
    return worst.value


def impact(worst: Disruption, changes: Iterable[Change]) -> str:
    """Return what the worst disruption among ``changes`` means to a person."""
    disturbing = [one for one in changes if one.disruption is worst]
    if worst is Disruption.SESSION and all(map(lowers_mtu, disturbing)):
        return "larger packets dropped"
    if worst is Disruption.SESSION and all(map(is_of_the_cpu, disturbing)):
        return "packets for the CPU may be dropped"
    if worst is Disruption.FLAP and all(map(sets_queues_anew, disturbing)):
        return "queues lose their buffer or scheduler for a moment"
    if worst is Disruption.FLAP and all(map(effect_is_unknown, disturbing)):
        return UNKNOWN_WORDS
    return WORDS[worst]


_ROLE_OF_TYPE = {SONIC_TYPE[role]: role for role in reversed(TIER_NAMES)}
_NODE = "Server"


def headline(plan: Plan) -> str:
    """Return one sentence that says what will happen."""
    assumed = len(plan.assumed_fresh)
    unread = len(plan.names(DeviceState.UNREACHABLE)) - assumed
    tail = [f"{counted(assumed, 'switch')} not reachable, planned as factory-fresh"] if assumed else []
    tail += [f"{counted(unread, 'device')} could not be read"] if unread else []
    tail += [f"an unconfirmed commit waits on {compact(plan.waiting)}"] if plan.waiting else []
    tail += [f"daemons of {compact(plan.broken)} do not run"] if plan.broken else []
    if not plan.deltas:
        leaving = _first(_taken_out(plan))
        return f"{plan.fabric}: {'; '.join([*leaving, *_unchanged(plan), *tail])}."
    running = [name for name in plan.names(DeviceState.CHANGED) if not plan.devices[name].unprovisioned]
    clauses = [
        *_first(_added(plan)),
        *_first(_taken_out(plan)),
        *(_of_running(plan, running) if running else ()),
    ]
    return f"{plan.fabric}: {'; '.join([*clauses, *tail])}."


def _of_running(plan: Plan, running: Collection[str]) -> Iterable[str]:
    yield _touched(plan, running)
    yield from _moved(plan)
    yield from _speeds(plan, running)
    yield _qos(plan, running)


def _first(clause: str) -> Sequence[str]:
    return (clause,) if clause else ()


def _unchanged(plan: Plan) -> Iterable[str]:
    """Yield that nothing changes, with what is known of the devices: of none that was not read that it is as
    intended."""
    count = len(plan.names(DeviceState.UNCHANGED))
    if plan.is_offline:
        yield f"no changes: both intents configure {counted(count, 'device')} alike"
    elif count:
        yield f"no changes, {counted(count, 'device')} {'is' if count == 1 else 'are'} as intended"
    else:
        yield "nothing is known of what runs"


def _added(plan: Plan) -> str:
    fresh = [name for name in plan.deltas if plan.devices[name].unprovisioned]
    links, nodes = _links(plan, Op.ADD)
    parts = [*_roles(plan.devices[name].role for name in fresh), *_link_words(links, nodes)]
    return f"adds {listed(parts)}" if parts else ""


def _taken_out(plan: Plan) -> str:
    """Return the clause of switches and links that the intent no longer has."""
    unprovisioned = plan.unprovisioned
    types = {
        change.subject.name: _type(change)
        for name, delta in plan.deltas.items()
        if name not in unprovisioned
        for change in delta.about(SubjectKind.NEIGHBOR)
        if change.op is Op.REMOVE and change.before
    }
    left = [name for name, kind in types.items() if kind != _NODE and name not in plan.devices]
    gone = dict.fromkeys((*plan.gone, *left))
    links, nodes = _links(plan, Op.REMOVE)
    roles = (_ROLE_OF_TYPE.get(types.get(name, ""), "switch") for name in gone)
    parts = [*_roles(roles), *_link_words(links, nodes)]
    return f"removes {listed(parts)}" if parts else ""


def _links(plan: Plan, op: Op) -> tuple[int, int]:
    """Return the links between switches, and those to GPU nodes, of which rows come or go.

    A link between switches is counted at one end or at both; several between the same two are as many as an end has.
    """
    ends: Counter[tuple[str, str]] = Counter()
    switches = {*plan.devices, *plan.gone} | {
        change.subject.name
        for delta in plan.deltas.values()
        for change in delta.about(SubjectKind.NEIGHBOR)
        if _type(change) in _ROLE_OF_TYPE
    }
    for name, delta in plan.deltas.items():
        far_of = _far_of_unprovisioned if plan.devices[name].unprovisioned else _far
        for change in delta.about(SubjectKind.LINK):
            if far := far_of(change, op):
                ends[name, far] += 1
    pairs: dict[frozenset[str], int] = {}
    for (device, far), count in ends.items():
        pair = frozenset((device, far))
        pairs[pair] = max(pairs.get(pair, 0), count)
    for pair in _moved_pairs(plan, op):
        # A cable that moves goes from one place and comes to another; it is neither removed nor added.
        pairs[pair] = max(pairs.get(pair, 0) - 1, 0)
    links = sum(count for pair, count in pairs.items() if pair <= switches)
    return links, sum(pairs.values()) - links


def _moved_pairs(plan: Plan, op: Op) -> Iterable[frozenset[str]]:
    """Yield the devices between which each cable that moves is afterwards, of a removal those between which it was."""
    for cable in moved_cables(plan):
        near, far = (cable.end_after, cable.after) if op is Op.ADD else ("", cable.before)
        device = near.rpartition(":")[0] or cable.device
        yield frozenset((device, far.rpartition(":")[0]))


def _type(change: Change) -> str:
    value = change.after if change.op is Op.ADD else change.before
    return "" if value is None or isinstance(value, str | tuple) else str(value.get("type", ""))


def _far(change: Change, op: Op) -> str:
    return change.subject.name if change.op is op and change.field is None else ""


def _far_of_unprovisioned(change: Change, op: Op) -> str:
    """Return the far end of a link that a switch gets with its first configuration.

    What it has before is nobody's link: the sample configuration of a factory names neighbors too, on ports whose
    rows then change in place.
    """
    if op is Op.REMOVE or change.op is Op.REMOVE:
        return ""
    return change.subject.name if change.field is not None else _far(change, op)


def _link_words(links: int, nodes: int) -> Iterable[str]:
    if links:
        yield counted(links, "link")
    if nodes:
        yield counted(nodes, "node port")


def unprotected(plan: Plan, names: Iterable[str]) -> str:
    """Return what the removal of lossless markings from switches means to packets that carry these, empty where none
    is removed. No switch is disrupted by it, so no disruption tells."""
    codes = sorted({dscp for name in names for dscp in plan.devices[name].lossless_removed})
    return f"packets of DSCP {listed([str(one) for one in codes])} may be dropped" if codes else ""


def _touched(plan: Plan, running: Collection[str]) -> str:
    worst = max((one for name in running for one in plan.deltas[name].disruptions), key=DISRUPTION_RANK.__getitem__)
    disruptive = [name for name in running if plan.devices[name].disruptive]
    what = f"touches {listed(_roles(plan.devices[name].role for name in running))}"
    dropped = unprotected(plan, running)
    if worst is Disruption.NONE:
        return f"{what} ({dropped})" if dropped else f"{what} without disruption"
    if not disruptive:
        return f"{what}, disrupting only links that are {_what_goes(plan)}"
    meant = impact(worst, (change for name in running for change in plan.deltas[name]))
    some = "" if len(disruptive) == len(running) else f" on {len(disruptive)}"
    return f"{what} ({', '.join(one for one in (f'{meant}{some}', dropped) if one)})"


def _what_goes(plan: Plan) -> str:
    """Return what becomes of links whose ports change or close."""
    if not moved_cables(plan):
        return "removed"
    return "removed or moved" if any(_links(plan, Op.REMOVE)) else "moved"


def _moved(plan: Plan) -> Iterable[str]:
    """Yield what of identities and cables moves; that no address does is worth saying."""
    cables = moved_cables(plan)
    if cables:
        yield f"moves {counted(len(cables), 'cable')}"
    found = find_renumbering(plan)
    addresses = [one for one in found if one.what != "AS number"]
    if len(addresses) < len(found):
        yield f"changes {counted(len(found) - len(addresses), 'AS number')}"
    yield f"moves {counted(len(addresses), 'address')}" if addresses else "moves no address"


def _speeds(plan: Plan, running: Collection[str]) -> Iterable[str]:
    updated = Counter(
        change.field
        for name in running
        for change in plan.deltas[name].about(SubjectKind.PORT)
        if change.op is Op.UPDATE
    )
    speeds, modes = updated["speed"], updated["brkout_mode"]
    if speeds:
        yield f"changes the speed of {counted(speeds, 'port')}"
    if modes:
        yield f"changes the breakout of {counted(modes, 'port')}"


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
