"""What a running lab lacks of a grown intent: a further Containerlab lab, in which the nodes that run are external.

Containerlab takes a topology of which nodes run already for a mistake (before 0.79), or recreates the switches whose
cables change (since). A lab beside the first one touches none of them, with any version: it shares the management
network, its containers are named as those of the first, and a cable from a new switch ends at the container that
runs, or on the host, where it is joined with the open cable of a switch that runs.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from railweave.lab.cables import (
    EXTERNAL_KIND,
    HOST_KIND,
    Cable,
    End,
    Node,
    Topology,
    container_name,
    joined_link,
    open_link,
    waiting_end,
)


@dataclass(frozen=True, slots=True)
class Growth:
    """What is added to a running lab.

    ``topology`` is the lab with it. ``document`` is the further Containerlab lab, None if nothing is added; ``joints``
    are the pairs of interfaces on the host to join then. ``obstacles`` say why the lab cannot become what the intent
    says. ``surplus`` are nodes that run and that the intent does not have; they keep running.
    """

    added: tuple[str, ...]
    surplus: tuple[str, ...]
    topology: Topology
    document: dict[str, Any] | None = None
    joints: tuple[tuple[str, str], ...] = ()
    obstacles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """What makes one cable: links of the further lab, a joint on the host, or the reason why it cannot be made."""

    links: tuple[dict[str, Any], ...] = ()
    joint: tuple[str, str] | None = None
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class _Comparison:
    lab: str
    running: Topology
    intended: Topology
    takes_ports: Collection[str]
    far_ends: dict[End, End | None] = field(default_factory=dict)

    def is_new(self, end: End) -> bool:
        return end[0] not in self.running.nodes

    def definition(self, node: str) -> Node:
        return self.running.nodes[node] if node in self.running.nodes else self.intended.nodes[node]


def growth(
    lab: str, running: Topology, intended: Topology, base: dict[str, Any], takes_ports: Collection[str]
) -> Growth:
    """Compare the running lab with what the intent says today.

    ``base`` is the start of the further lab's document, its name and management network; ``takes_ports`` are the kinds
    of nodes that take another interface while they run.
    """
    seen = _Comparison(lab, running, intended, takes_ports, running.far_ends)
    added = tuple(name for name in intended.nodes if name not in running.nodes)
    surplus = tuple(name for name in running.nodes if name not in intended.nodes)
    steps = [step for cable in intended.cables if (step := _step(seen, cable)) is not None]
    obstacles = (*_changed(seen), *(step.obstacle for step in steps if step.obstacle))
    joints = tuple(step.joint for step in steps if step.joint)
    links = [link for step in steps for link in step.links]
    document = _document(seen, base, added, links) if added or links or joints else None
    return Growth(added, surplus, _grown(seen), document, joints, obstacles)


def _changed(seen: _Comparison) -> Iterator[str]:
    """Yield what differs in nodes that run and stay."""
    for name, node in seen.intended.nodes.items():
        running = seen.running.nodes.get(name, node)
        for key in ("kind", "image"):
            if running.get(key) != node.get(key):
                yield f"{name} runs {key} {running.get(key)}, not {node.get(key)}"


def _step(seen: _Comparison, cable: Cable) -> _Step | None:
    """Return how a cable is made; None if it is there, or needs not be."""
    near, far = cable.near, cable.far
    if far is None:
        return _Step((_open(seen, near),)) if seen.is_new(near) else None
    ends = (near, far)
    if seen.far_ends.get(near) == far:
        return None
    for end in ends:
        if obstacle := _obstacle(seen, end, far if end == near else near):
            return _Step(obstacle=obstacle)
    waiting = [end for end in ends if end in seen.far_ends]
    if not waiting:
        return _Step((joined_link(_called(seen, near), _called(seen, far)),))
    joint = (waiting_end(seen.lab, near), waiting_end(seen.lab, far))
    return _Step(tuple(_open(seen, end) for end in ends if end not in waiting), joint)


def _obstacle(seen: _Comparison, end: End, other: End) -> str:
    """Return why no cable can lead from an end to another one, "" if one can."""
    if (leads_to := seen.far_ends.get(end)) is not None:
        return f"the cable of {_text(end)} leads to {_text(leads_to)}, not to {_text(other)}"
    kind = seen.definition(end[0])["kind"]
    if seen.is_new(end) or end in seen.far_ends or kind in seen.takes_ports:
        return ""
    ports = f"a {kind} gets its ports when it starts, those of its intent's reserve"
    return f"{end[0]} has no port {end[1]} for {_text(other)}: {ports}"


def _text(end: End) -> str:
    return ":".join(end)


def _called(seen: _Comparison, end: End) -> End:
    """Return an end as the further lab calls it: by the container."""
    return container_name(seen.lab, end[0], seen.definition(end[0])), end[1]


def _open(seen: _Comparison, end: End) -> dict[str, Any]:
    return open_link(seen.lab, end, _called(seen, end)[0])


def _document(
    seen: _Comparison, base: dict[str, Any], added: tuple[str, ...], links: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the further lab: without a prefix its nodes are called as their containers."""
    nodes: dict[str, Any] = {}
    for name in added:
        definition = seen.intended.nodes[name]
        nodes[container_name(seen.lab, name, definition)] = _named(name, definition)
    ends = [end["node"] for link in links for end in link.get("endpoints", [link.get("endpoint")])]
    for container in ends:
        nodes.setdefault(container, {"kind": EXTERNAL_KIND})
    return {**base, "prefix": "", "topology": {"nodes": nodes, "links": links}}


def _named(name: str, definition: Node) -> dict[str, Any]:
    """Return a node whose host name is not its container's; a switch takes its own from its configuration."""
    if definition["kind"] != HOST_KIND:
        return dict(definition)
    return {**definition, "exec": [f"hostname {name}", *definition.get("exec", ())]}


def _grown(seen: _Comparison) -> Topology:
    """Return the lab with what is added: what runs stays as it is."""
    intended = seen.intended.far_ends
    kept = [cable for cable in seen.running.cables if cable.far is not None or intended.get(cable.near) is None]
    there = {end for cable in kept for end in (cable.near, cable.far) if end is not None}
    new = [
        cable
        for cable in seen.intended.cables
        if cable.near not in there and (cable.far not in there if cable.far else seen.is_new(cable.near))
    ]
    return Topology({**seen.intended.nodes, **seen.running.nodes}, (*kept, *new))
