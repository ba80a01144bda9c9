"""Adding to a running lab what a grown intent has more: a second Containerlab lab, to which running nodes are external.

Containerlab refuses a topology with nodes that run already (before 0.79), or recreates the switches whose cables
change (since). A second lab touches none of them, with any version: it shares the management network and the naming
of containers. A cable from a new switch ends at the running container, or on the host, where it is joined with the
open cable of a running switch.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from railweave.lab.cables import (
    EXTERNAL_KIND,
    HOST_KIND,
    End,
    LabCable,
    LabTopology,
    Node,
    container_name,
    joined_link,
    open_link,
    waiting_end,
)


@dataclass(frozen=True, slots=True)
class LabGrowth:
    """What is added to a running lab."""

    # The names of the nodes to start.
    added: tuple[str, ...]
    # Nodes that the intent does not have; they keep running.
    surplus: tuple[str, ...]
    # The lab with the addition.
    topology: LabTopology
    # The second Containerlab lab; None if nothing is added.
    document: dict[str, Any] | None = None
    # Pairs of interfaces on the host, to be joined once the second lab runs.
    joints: tuple[tuple[str, str], ...] = ()
    # Why the lab cannot become what the intent says, in sentences.
    obstacles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """How one cable is made: links of the second lab and a joint on the host; or the reason why it cannot be made."""

    links: tuple[dict[str, Any], ...] = ()
    joint: tuple[str, str] | None = None
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The running lab and the intended one, with the far ends of running nodes."""

    lab: str
    running: LabTopology
    intended: LabTopology
    # The kinds of nodes that accept another interface while they run.
    takes_ports: Collection[str]
    far_ends: dict[End, End | None] = field(default_factory=dict)

    def is_new(self, end: End) -> bool:
        """Tell whether the node of an end does not run yet."""
        node, _ = end
        return node not in self.running.nodes

    def definition(self, node: str) -> Node:
        """Return a node as it runs, else as it is intended."""
        if node in self.running.nodes:
            return self.running.nodes[node]
        return self.intended.nodes[node]


def growth(
    lab: str, running: LabTopology, intended: LabTopology, base: dict[str, Any], takes_ports: Collection[str]
) -> LabGrowth:
    """Return what is added to a running lab so that it becomes the intended one.

    ``lab`` is the name of the running lab. ``base`` is the start of the second lab's document, with its name and
    management network. ``takes_ports`` are the kinds of nodes that accept another interface while they run.
    """
    labs = _Comparison(lab, running, intended, takes_ports, running.far_ends)
    added = tuple(name for name in intended.nodes if name not in running.nodes)
    surplus = tuple(name for name in running.nodes if name not in intended.nodes)
    # All obstacles are reported at once: a person changes the intent once, or starts the lab anew.
    obstacles = list(_changed_nodes(labs))
    joints = []
    links: list[dict[str, Any]] = []
    for cable in intended.cables:
        step = _step_of_cable(labs, cable)
        links += step.links
        if step.joint:
            joints.append(step.joint)
        if step.obstacle:
            obstacles.append(step.obstacle)
    document = None
    if any((added, links, joints)):
        document = _document(labs, base, added, links)
    return LabGrowth(
        added=added,
        surplus=surplus,
        topology=_grown_topology(labs),
        document=document,
        joints=tuple(joints),
        obstacles=tuple(obstacles),
    )


def _changed_nodes(labs: _Comparison) -> Iterator[str]:
    """Yield a sentence for each running node of another kind or image than the intended node of its name."""
    for name, intended in labs.intended.nodes.items():
        running = labs.running.nodes.get(name)
        if running is None:
            continue
        for key in ("kind", "image"):
            if running.get(key) != intended.get(key):
                yield f"{name} runs {key} {running.get(key)}, not {intended.get(key)}"


def _step_of_cable(labs: _Comparison, cable: LabCable) -> _Step:
    """Return how a cable is made; an empty step if it exists, or is open at a running node."""
    near = cable.near
    far = cable.far
    if far is None:
        return _open_step(labs, near)
    if labs.far_ends.get(near) == far:
        return _Step()
    obstacle = _obstacle(labs, near, far) or _obstacle(labs, far, near)
    if obstacle:
        return _Step(obstacle=obstacle)
    return _joining_step(labs, near, far)


def _joining_step(labs: _Comparison, near: End, far: End) -> _Step:
    """Return how two ends are joined; no obstacle is between them."""
    # An end that already has a cable has an open one, which waits on the host: cables that exist need no step, and
    # cables that lead elsewhere are obstacles.
    ends_to_open = [end for end in (near, far) if end not in labs.far_ends]
    if len(ends_to_open) == 2:
        return _Step((joined_link(_external_end(labs, near), _external_end(labs, far)),))
    joint = (waiting_end(labs.lab, near), waiting_end(labs.lab, far))
    return _Step(tuple(_open_link(labs, end) for end in ends_to_open), joint)


def _open_step(labs: _Comparison, end: End) -> _Step:
    """Return how the open cable of an end is made; an empty step at a running node, whose cable is open already."""
    if labs.is_new(end):
        return _Step((_open_link(labs, end),))
    return _Step()


def _obstacle(labs: _Comparison, end: End, far: End) -> str:
    """Return why no cable can lead from ``end`` to ``far``; empty if one can."""
    present_far = labs.far_ends.get(end)
    if present_far is not None:
        return f"the cable of {_end_text(end)} leads to {_end_text(present_far)}, not to {_end_text(far)}"
    node, interface = end
    kind = labs.definition(node)["kind"]
    has_open_cable = end in labs.far_ends
    if labs.is_new(end) or has_open_cable or kind in labs.takes_ports:
        return ""
    ports = f"a {kind} gets its ports when it starts, those of its intent's reserve"
    return f"{node} has no port {interface} for {_end_text(far)}: {ports}"


def _end_text(end: End) -> str:
    """Return an end as ``node:interface``."""
    return ":".join(end)


def _external_end(labs: _Comparison, end: End) -> End:
    """Return an end with the name of its node in the second lab, which is that of the container."""
    node, interface = end
    return container_name(labs.lab, node, labs.definition(node)), interface


def _open_link(labs: _Comparison, end: End) -> dict[str, Any]:
    """Return an open cable of an end as a link of the second lab."""
    container, _ = _external_end(labs, end)
    return open_link(labs.lab, end, container)


def _document(
    labs: _Comparison, base: dict[str, Any], added: tuple[str, ...], links: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the second Containerlab lab: the added nodes, the links, and the running nodes at them as external."""
    nodes: dict[str, Any] = {}
    for name in added:
        definition = labs.intended.nodes[name]
        nodes[container_name(labs.lab, name, definition)] = _with_host_name(name, definition)
    for link in links:
        # A link on the host has one endpoint.
        for end in link.get("endpoints") or [link["endpoint"]]:
            nodes.setdefault(end["node"], {"kind": EXTERNAL_KIND})
    # Without a prefix Containerlab names the containers as the nodes, here by the first lab's container names.
    return {**base, "prefix": "", "topology": {"nodes": nodes, "links": links}}


def _with_host_name(name: str, definition: Node) -> dict[str, Any]:
    """Return the definition of a node that sets its own host name instead of the container's name."""
    # A switch takes its host name from its configuration.
    if definition["kind"] != HOST_KIND:
        return dict(definition)
    return {**definition, "exec": [f"hostname {name}", *definition.get("exec", ())]}


def _grown_topology(labs: _Comparison) -> LabTopology:
    """Return the lab with the addition; running nodes and their cables stay as they are."""
    intended_far_ends = labs.intended.far_ends
    cables = []
    used_ends: set[End | None] = set()
    for cable in labs.running.cables:
        # An open cable is replaced by the intended one if that has a far end.
        is_replaced = cable.far is None and intended_far_ends.get(cable.near) is not None
        if not is_replaced:
            cables.append(cable)
            used_ends.add(cable.near)
            used_ends.add(cable.far)
    cables += [cable for cable in labs.intended.cables if _is_added(labs, cable, used_ends)]
    return LabTopology({**labs.intended.nodes, **labs.running.nodes}, tuple(cables))


def _is_added(labs: _Comparison, cable: LabCable, used_ends: Collection[End | None]) -> bool:
    """Tell whether an intended cable is added; ``used_ends`` are the ends of the cables that stay."""
    if cable.near in used_ends:
        return False
    if cable.far is None:
        # A running node has its open cables already, or takes interfaces while it runs.
        return labs.is_new(cable.near)
    return cable.far not in used_ends
