"""The cables of a twin: those that LLDP shows on the target, else those of the intent; and which links are down."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from nornir_railweave.tasks.recording import RecordedSwitch
from railweave.fabric.model import Fabric
from sonic_sim.network import Port, compatible, end_of, port_of
from sonic_sim.spec import SimCable, SimSpec

Recorded = Mapping[str, RecordedSwitch]


def cabled_as_seen(spec: SimSpec, fabric: Fabric, recorded: Recorded) -> SimSpec:
    """Return ``spec`` with the cables between switches that LLDP shows in the place of those that they contradict."""
    seen = {tuple(sorted(ends)) for ends in _seen_cables(fabric, recorded)}
    taken = {end for ends in seen for end in ends}
    kept = tuple(one for one in spec.cables if not taken & {one.a, one.b})
    return replace(spec, cables=(*kept, *(SimCable(a, b) for a, b in sorted(seen))))


def _seen_cables(fabric: Fabric, recorded: Recorded) -> Iterator[tuple[str, str]]:
    ports = {name: _names(one) for name, one in recorded.items()}
    for name, one in recorded.items():
        for port, neighbors in one.seen.lldp.items() if one.seen else ():
            known = {(far.system, ports.get(far.system, {}).get(far.port, "")) for far in neighbors}
            known = {(system, far_port) for system, far_port in known if system in fabric.switch_of and far_port}
            if port in ports[name] and len(known) == 1:
                ((system, far_port),) = known
                yield f"{name}:{port}", f"{system}:{far_port}"


def _names(one: RecordedSwitch) -> dict[str, str]:
    """Return the ports of a switch by name and by alias, which SONiC's LLDP sends."""
    rows = one.running.port_rows if one.running else {}
    return {str(row.get("alias", name)): name for name, row in rows.items()} | {name: name for name in rows}


def dark_ports(spec: SimSpec, recorded: Recorded, unprovisioned: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return the switch and port of each link that would be up by both configurations and is down on the target.

    A switch that is provisioned yet has links of another speed until then, so nothing is said of them.
    """
    found = []
    for cable in spec.cables:
        ends = [end_of(one) for one in (cable.a, cable.b)]
        own = [end for end in ends if end.node in recorded]
        if any(end.node in unprovisioned for end in ends) or not own:
            continue
        ports = [_port(recorded[end.node], end.port) for end in own]
        would = all(one is not None and one.admin_up for one in ports)
        if would and len(ports) == 2 and not (ports[0] and ports[1] and compatible(ports[0], ports[1])):
            continue
        down = [end for end in own if _is_down(recorded[end.node], end.port)]
        if would and down:
            found.append((down[0].node, down[0].port))
    return tuple(found)


def _port(one: RecordedSwitch, name: str) -> Port | None:
    row = one.running.port_rows.get(name) if one.running else None
    return None if row is None else port_of(name, {key: str(value) for key, value in row.items()})


def _is_down(one: RecordedSwitch, port: str) -> bool:
    state = one.seen.ports.get(port) if one.seen else None
    return state is not None and not state.up
