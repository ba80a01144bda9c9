"""A plan that is limited to some switches (``--limit``): what it leaves out, and when it must not.

A limit may separate neighbors only where neither needs the other. Two running switches that both change a cable, an
address, the MTU, a BGP session or the traffic classes of a link go together. Where one of them carries no traffic yet,
or where both change what they announce and accept, the order of the whole plan counts: the switch that goes first may
not stay behind.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from railweave.diagnostics import Diagnostic, error
from railweave.errors import RefusedError
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.plan.build import in_own_order
from railweave.plan.expectation import session_peer
from railweave.plan.model import DevicePlan, DeviceState, Plan
from railweave.sonic.delta.change import Change, Delta
from railweave.sonic.delta.shared import Shared, far_devices, shared_by
from railweave.wording import compact, listed

_KEPT_STATES = frozenset({DeviceState.UNCHANGED, DeviceState.WAITING})
_READ_STATES = frozenset({DeviceState.CHANGED, DeviceState.UNCHANGED})

SharedWith = Mapping[str, frozenset[Shared]]
"""The neighbors that changes concern, each with what is shared with it."""


@dataclass(frozen=True, slots=True)
class Separation:
    """Two neighbors that a limit separates: ``inner`` may be changed, ``outer`` would stay behind."""

    inner: str
    outer: str
    # What both of them change.
    shared: frozenset[Shared]
    # They would not fail together, but the whole plan changes ``outer`` first.
    ordered: bool


def limited(fabric: Fabric, plan: Plan, names: Collection[str]) -> Plan:
    """Return ``plan``, which has the changes of all switches, with only those of the switches ``names``.

    The waves are laid out again. Raises RefusedError if the limit separates switches that must not be separated.
    """
    refused = limit_diagnostics(fabric, plan, names)
    if refused:
        raise RefusedError(refused)
    unread = _unread_neighbors(fabric, plan, names)
    devices = {}
    for name, device in plan.devices.items():
        # An unread neighbor stays in the plan, so that only --skip-unreachable allows a change that is shared with it.
        if name in names or name in unread:
            devices[name] = device
        else:
            devices[name] = _left_out(device, links_as_intended=_keeps_links(fabric, plan, name))
    limit = tuple(switch.name for switch in fabric.switches if switch.name in names)
    return in_own_order(fabric, replace(plan, devices=devices, limit=limit, violations=()))


def to_read_as_well(fabric: Fabric, plan: Plan, names: Collection[str]) -> frozenset[str]:
    """Return the further switches that have to be read for ``plan``, for which only the switches ``names`` were read.

    These are the neighbors that its changes concern. They are all other switches if the plan takes a switch out of
    service, provisions one, or could not read one, because paths and neighbors elsewhere count then.
    """
    some_unread = any(plan.devices[name].reading.difference is None for name in names)
    drains_any = any(device.drain for device in plan.devices.values())
    if some_unread or drains_any or plan.disruptive or plan.unprovisioned:
        return frozenset(plan.devices.keys() - set(names))
    return _unread_neighbors(fabric, plan, names)


def _keeps_links(fabric: Fabric, plan: Plan, name: str) -> bool:
    """Tell whether the links of a switch are as intended without its changes, because these concern no link."""
    device = plan.devices[name]
    is_read = device.reading.difference is not None and device.state in _READ_STATES
    if not is_read or device.difference.unprovisioned:
        return False
    shared_with = _shared_with(fabric, name, device.difference.delta)
    return all(shared <= {Shared.ROUTES} for shared in shared_with.values())


def _left_out(device: DevicePlan, *, links_as_intended: bool) -> DevicePlan:
    """Return a device that the limit leaves out, with its reading and without its changes."""
    reading = replace(device.reading, live_ports=())
    if reading.difference is not None:
        difference = replace(reading.difference, delta=Delta(), blockers=(), conflicts=(), lossless_removed=(), kept=())
        reading = replace(reading, difference=difference)
    state = DeviceState.BEHIND
    if device.state in _KEPT_STATES:
        state = device.state
    return replace(
        device,
        state=state,
        reading=reading,
        disruptive=False,
        drain=(),
        labels=None,
        links_as_intended=links_as_intended,
    )


def limit_diagnostics(fabric: Fabric, plan: Plan, names: Collection[str]) -> tuple[Diagnostic, ...]:
    """Return the errors if ``plan`` must not be limited to the switches ``names``; nothing if it may be."""
    separations = tuple(separated(fabric, plan, names))
    if not separations:
        return ()
    fix = _fix(fabric, plan, names)
    diagnostics = []
    together = [separation for separation in separations if not separation.ordered]
    if together:
        message = (
            f"{_inner_text(together)} must change together with {_outer_text(together)}, which the limit leaves out: "
            f"both ends of a link need the same {_shared_text(together)}"
        )
        diagnostics.append(error("RW542", message, devices=_inner_names(together), fix=fix))
    ordered = [separation for separation in separations if separation.ordered]
    if ordered:
        message = (
            f"{_inner_text(ordered)} must change after {_outer_text(ordered)}, which the limit leaves out: "
            f"both change {_shared_text(ordered)}"
        )
        diagnostics.append(error("RW543", message, devices=_inner_names(ordered), fix=fix))
    return tuple(diagnostics)


def _inner_names(separations: Collection[Separation]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(separation.inner for separation in separations))


def _inner_text(separations: Collection[Separation]) -> str:
    return compact(_inner_names(separations))


def _outer_text(separations: Collection[Separation]) -> str:
    return compact(dict.fromkeys(separation.outer for separation in separations))


def _shared_text(separations: Collection[Separation]) -> str:
    shared = frozenset[Shared]().union(*(separation.shared for separation in separations))
    # In the order of the enumeration, since a set has none.
    return listed(kind for kind in Shared if kind in shared)


def _fix(fabric: Fabric, plan: Plan, names: Collection[str]) -> str:
    """Return the fix for a limit that separates switches: the further switches that it has to have."""
    wider = widened(fabric, plan, names)
    if wider >= plan.deltas.keys():
        return "deploy without --limit: every switch with changes belongs to it"
    added = [name for name in plan.deltas if name in wider and name not in names]
    return f"add {compact(added)} to --limit, or deploy without it"


def widened(fabric: Fabric, plan: Plan, names: Collection[str]) -> frozenset[str]:
    """Return ``names`` and the fewest further switches with which a limit separates nothing."""
    wider = frozenset(names)
    while True:
        missing = {separation.outer for separation in separated(fabric, plan, wider)}
        if not missing:
            return wider
        # A switch that is added may itself depend on one outside.
        wider |= missing


def separated(fabric: Fabric, plan: Plan, names: Collection[str]) -> Iterator[Separation]:
    """Yield a separation for each two neighbors that a limit to ``names`` must not separate.

    They must change together, or the one outside of the limit must change first.
    """
    shared_of: dict[str, SharedWith] = {}
    for inner, outer, shared in _changes_across_limit(fabric, plan, names):
        if outer not in shared_of:
            shared_of[outer] = _shared_with(fabric, outer, plan.deltas[outer])
        common = shared & shared_of[outer].get(inner, frozenset())
        separation = _separation(fabric, plan, inner, outer, common)
        if separation is not None:
            yield separation


def _separation(fabric: Fabric, plan: Plan, inner: str, outer: str, common: frozenset[Shared]) -> Separation | None:
    """Return the separation of two neighbors, ``common`` being what both of them change.

    Returns None if the limit may separate them.
    """
    changes_of_link = common - {Shared.ROUTES}
    carries_traffic = not any(plan.devices[name].difference.unprovisioned for name in (inner, outer))
    if changes_of_link and carries_traffic:
        return Separation(inner, outer, changes_of_link, ordered=False)
    # Of two neighbors the one in the upper tier is changed first (`plan.waves`).
    outer_first = fabric.switch_of[outer].tier.level > fabric.switch_of[inner].tier.level
    if common and outer_first:
        return Separation(inner, outer, common, ordered=True)
    return None


def _changes_across_limit(
    fabric: Fabric, plan: Plan, names: Collection[str]
) -> Iterator[tuple[str, str, frozenset[Shared]]]:
    """Yield each changed switch of ``names``, each changed neighbor outside, and what its changes share with that.

    The changes of the neighbor are not looked at: it may change something else.
    """
    changed = {name for wave in plan.waves for name in wave}
    for inner, delta in plan.deltas.items():
        if inner not in names or inner not in changed:
            continue
        for outer, shared in _shared_with(fabric, inner, delta).items():
            if outer in changed and outer not in names:
                yield inner, outer, shared


def _unread_neighbors(fabric: Fabric, plan: Plan, names: Collection[str]) -> frozenset[str]:
    """Return the switches outside of ``names`` that were not read and that changes of ``names`` concern."""
    unread = {name for name, device in plan.devices.items() if device.reading.difference is None}
    concerned: set[str] = set()
    for inner, delta in plan.deltas.items():
        if unread and inner in names:
            concerned.update(_shared_with(fabric, inner, delta))
    return frozenset(concerned & unread)


def _shared_with(fabric: Fabric, name: str, delta: Delta) -> SharedWith:
    """Return the neighbors that the changes ``delta`` of a switch concern, each with what is shared with it."""
    switch = fabric.switch_of[name]
    far_ends = _far_ends(fabric, switch)
    all_neighbors = frozenset(far_ends.values())
    shared_with: dict[str, frozenset[Shared]] = {}
    for change in delta:
        shared = shared_by(change)
        if shared is None:
            continue
        for neighbor in _concerned_neighbors(change, shared, far_ends, all_neighbors):
            if neighbor in fabric.switch_of:
                shared_with[neighbor] = shared_with.get(neighbor, frozenset()) | {shared}
    return shared_with


def _far_ends(fabric: Fabric, switch: Switch) -> dict[str, str]:
    """Return the neighbors of a switch by our port of the link, and by the peer of its BGP session."""
    far_ends = {}
    for link in fabric.fabric_links_of(switch.name):
        far = link.far(switch.name)
        port = switch.panel.ports[link.port_of(switch.name)].name
        far_ends[port] = far
        far_ends[session_peer(fabric, link, far, port)] = far
    return far_ends


def _concerned_neighbors(
    change: Change, shared: Shared, far_ends: Mapping[str, str], all_neighbors: Collection[str]
) -> Collection[str]:
    """Return the neighbors that a change concerns: the one at the port or peer that it names, or all if it names none.

    ``far_ends`` has the neighbor at each port and peer of the switch, ``shared`` is what the change shares with them.
    """
    subject = change.subject
    port_or_peer = subject.port
    if shared is Shared.SESSIONS and subject.name:
        port_or_peer = subject.name
    if not port_or_peer and shared is not Shared.CABLES:
        return all_neighbors
    neighbors: set[str] = set()
    if port_or_peer in far_ends:
        neighbors.add(far_ends[port_or_peer])
    if shared is Shared.CABLES:
        # Where a cable moves, the earlier far end is concerned as well.
        neighbors.update(far_devices(change))
    return neighbors
