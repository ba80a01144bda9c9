"""A plan in one sentence, in the words in which a reviewer asks.

``pod1: adds 2 leaves and 64 links; touches 16 spines without disruption; moves no address; no QoS change.`` Everything
is counted from the changes of the plan itself.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from railweave.fabric.model import TIER_NAMES
from railweave.fabric.model import plural as tier_plural
from railweave.plan.cables import moved_cables
from railweave.plan.identity import Renumbering, find_renumbering
from railweave.plan.model import DISRUPTION_RANK, DeviceState, Plan
from railweave.sonic.change import Change, Disruption, Op
from railweave.sonic.metadata import SONIC_TYPE

WORDS = {
    Disruption.NONE: "no disruption",
    Disruption.SESSION: "BGP sessions reset",
    Disruption.FLAP: "ports flap",
    Disruption.RELOAD: "the switch reloads",
}
"""What a disruption means to a person."""

_PLURALS = {"address": "addresses", "switch": "switches"}
_ROLE_OF_TYPE = {SONIC_TYPE[role]: role for role in reversed(TIER_NAMES)}
_NODE = "Server"

# Rows of a port: they come and go with its link, which is no change of the QoS policy.
_QOS_OF_PORTS = frozenset({"PORT_QOS_MAP", "QUEUE", "PFC_WD", "BUFFER_PG", "BUFFER_QUEUE", "CABLE_LENGTH"})
_QOS = _QOS_OF_PORTS | {
    "BUFFER_POOL",
    "BUFFER_PORT_EGRESS_PROFILE_LIST",
    "BUFFER_PORT_INGRESS_PROFILE_LIST",
    "BUFFER_PROFILE",
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    "DSCP_TO_TC_MAP",
    "LOSSLESS_TRAFFIC_PATTERN",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "SCHEDULER",
    "TC_TO_PRIORITY_GROUP_MAP",
    "TC_TO_QUEUE_MAP",
    "WRED_PROFILE",
}


def headline(plan: Plan) -> str:
    """Return one sentence that says what will happen."""
    unread = plan.names(DeviceState.UNREACHABLE)
    tail = [f"{_count(len(unread), 'device')} could not be read"] if unread else []
    if not plan.changes:
        leaving = _first(_taken_out(plan))
        return f"{plan.fabric}: {'; '.join([*leaving, f'no changes, {_all_fine(plan)}', *tail])}."
    running = [name for name in plan.names(DeviceState.CHANGED) if not plan.devices[name].unprovisioned]
    clauses = [
        *_first(_added(plan)),
        *_first(_taken_out(plan)),
        *(_of_running(plan, running) if running else ()),
    ]
    return f"{plan.fabric}: {'; '.join([*clauses, *tail])}."


def _of_running(plan: Plan, running: Collection[str]) -> Iterable[str]:
    """Yield the clauses of switches that run and change."""
    yield _touched(plan, running)
    yield from _moved(plan)
    yield from _speeds(plan, running)
    yield _qos(plan, running)


def _first(clause: str) -> Sequence[str]:
    return (clause,) if clause else ()


def _all_fine(plan: Plan) -> str:
    count = len(plan.names(DeviceState.UNCHANGED))
    return f"{_count(count, 'device')} {'is' if count == 1 else 'are'} as intended"


def _added(plan: Plan) -> str:
    """Return the clause of switches that are provisioned, and of links that come with a row of their own."""
    fresh = [name for name, device in plan.devices.items() if device.unprovisioned and device.state.value == "changed"]
    links, nodes = _links(plan, Op.ADD)
    parts = [*_roles(plan.devices[name].role for name in fresh), *_link_words(links, nodes)]
    return f"adds {_listed(parts)}" if parts else ""


def _taken_out(plan: Plan) -> str:
    """Return the clause of switches and links that the intent no longer has."""
    unprovisioned = plan.unprovisioned
    types = {
        change.key: str(change.before.get("type", ""))
        for change in plan.changes
        if change.table == "DEVICE_NEIGHBOR_METADATA"
        and change.op is Op.REMOVE
        and change.device not in unprovisioned
        and not isinstance(change.before, str | tuple)
        and change.before
    }
    left = [name for name, kind in types.items() if kind != _NODE and name not in plan.devices]
    gone = dict.fromkeys((*plan.gone, *left))
    links, nodes = _links(plan, Op.REMOVE)
    roles = (_ROLE_OF_TYPE.get(types.get(name, ""), "switch") for name in gone)
    parts = [*_roles(roles), *_link_words(links, nodes)]
    return f"takes out {_listed(parts)}" if parts else ""


def _links(plan: Plan, op: Op) -> tuple[int, int]:
    """Return the links between switches, and those to GPU nodes, of which rows come or go.

    A link between switches is told by one end or by both; several between the same two are as many as an end tells.
    """
    ends: Counter[tuple[str, str]] = Counter()
    switches = {*plan.devices, *plan.gone} | {
        change.key
        for change in plan.changes
        if change.table == "DEVICE_NEIGHBOR_METADATA" and _type(change) in _ROLE_OF_TYPE
    }
    unprovisioned = plan.unprovisioned
    for change in plan.changes:
        far = _far_of_unprovisioned(change, op) if change.device in unprovisioned else _far(change, op)
        if far:
            ends[change.device, far] += 1
    pairs: dict[frozenset[str], int] = {}
    for (device, far), count in ends.items():
        if far in switches:
            pair = frozenset((device, far))
            pairs[pair] = max(pairs.get(pair, 0), count)
    return sum(pairs.values()), sum(count for (_, far), count in ends.items() if far not in switches)


def _type(change: Change) -> str:
    value = change.after if change.op is Op.ADD else change.before
    return "" if value is None or isinstance(value, str | tuple) else str(value.get("type", ""))


def _far(change: Change, op: Op) -> str:
    """Return the far end that a row of DEVICE_NEIGHBOR names which comes or goes."""
    if change.table != "DEVICE_NEIGHBOR" or change.op is not op or change.field is not None:
        return ""
    value = change.after if op is Op.ADD else change.before
    return "" if value is None or isinstance(value, str | tuple) else str(value.get("name", ""))


def _far_of_unprovisioned(change: Change, op: Op) -> str:
    """Return the far end of a link that a switch gets with its first configuration.

    What it has before is nobody's link: the sample configuration of a factory names neighbours too, on ports whose
    rows then change in place.
    """
    if op is Op.REMOVE or change.table != "DEVICE_NEIGHBOR":
        return ""
    return str(change.after) if change.field == "name" and change.op is not Op.REMOVE else _far(change, op)


def _link_words(links: int, nodes: int) -> Iterable[str]:
    if links:
        yield _count(links, "link")
    if nodes:
        yield _count(nodes, "node port")


def _touched(plan: Plan, running: Collection[str]) -> str:
    """Return the clause of switches that run and change, with the worst that they suffer."""
    chosen = set(running)
    worst = max(
        (change.disruption for change in plan.changes if change.device in chosen), key=DISRUPTION_RANK.__getitem__
    )
    disruptive = [name for name in running if plan.devices[name].disruptive]
    what = f"touches {_listed(_roles(plan.devices[name].role for name in running))}"
    if worst is Disruption.NONE:
        return f"{what} without disruption"
    if not disruptive:
        return f"{what}, disturbing only links that end"
    return f"{what} ({WORDS[worst]}{'' if len(disruptive) == len(running) else f' on {len(disruptive)}'})"


def _moved(plan: Plan) -> Iterable[str]:
    """Yield what of identities and cables moves; that no address does is worth saying."""
    cables = moved_cables(plan)
    if cables:
        yield f"moves {_count(len(cables), 'cable')}"
    found = find_renumbering(plan)
    addresses = [one for one in found if not _is_asn(one)]
    if len(addresses) < len(found):
        yield f"changes {_count(len(found) - len(addresses), 'AS number')}"
    yield f"moves {_count(len(addresses), 'address')}" if addresses else "moves no address"


def _is_asn(one: Renumbering) -> bool:
    return one.what == "AS number"


def _speeds(plan: Plan, running: Collection[str]) -> Iterable[str]:
    """Yield the clause of ports of running switches that get another speed or breakout."""
    chosen = set(running)
    own = [change for change in plan.changes if change.device in chosen]
    speeds = sum(change.table == "PORT" and change.field == "speed" and change.op is Op.UPDATE for change in own)
    modes = sum(change.table == "BREAKOUT_CFG" and change.op is Op.UPDATE for change in own)
    if speeds:
        yield f"changes the speed of {_count(speeds, 'port')}"
    if modes:
        yield f"breaks out {_count(modes, 'port')} anew"


def _qos(plan: Plan, running: Collection[str]) -> str:
    chosen = set(running)
    linked = {
        (change.device, change.key) for change in plan.changes if change.table == "DEVICE_NEIGHBOR" and not change.field
    }
    touched = {
        change.device
        for change in plan.changes
        if change.device in chosen and change.table in _QOS and not _comes_with_a_link(change, linked)
    }
    if not touched:
        return "no QoS change"
    return f"changes QoS on {_listed(_roles(plan.devices[name].role for name in plan.devices if name in touched))}"


def _comes_with_a_link(change: Change, linked: Collection[tuple[str, str]]) -> bool:
    if change.table not in _QOS_OF_PORTS:
        return False
    port = (change.field or "") if change.table == "CABLE_LENGTH" else change.key.partition("|")[0]
    return (change.device, port) in linked


def _roles(roles: Iterable[str]) -> list[str]:
    return [_count(count, role) for role, count in Counter(roles).items()]


def _count(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a role or of another noun of a plan's sentence."""
    return _PLURALS.get(noun) or tier_plural(noun)


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
