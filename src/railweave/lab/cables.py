"""The containers of a lab and the cables between them, as values: written for Containerlab, and kept while a lab runs.

The ports of a virtual machine are made when it boots (vrnetlab ``common/vrnetlab.py``, ``gen_nics``: a port for every
interface that is there), and Containerlab 0.79 would create such a switch anew for one more cable
(``nodes/vr_node.go``). So a machine has its ports of the reserve from the start. A cable of which one end runs is
open: its other end waits on the host, under a name that any process can compute.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from railweave.codec import as_json, load_text, read_value

LINK_MTU_BYTES = 9500
"""Above the fabric's MTU, so that the ports' own MTU decides."""

EXTERNAL_KIND = "ext-container"
"""Containerlab's kind of a container that something else starts and stops."""

HOST_KIND = "linux"
"""Containerlab's kind of the GPU nodes."""

# Linux's IFNAMSIZ is 16 with the final zero.
_INTERFACE_LETTERS = 15

End = tuple[str, str]
"""A node and its interface."""

Node = Mapping[str, Any]
"""A node as Containerlab's topology file defines it."""


@dataclass(frozen=True, slots=True)
class LabCable:
    """A cable; ``far`` is None if it is open."""

    near: End
    far: End | None


@dataclass(frozen=True, slots=True)
class LabTopology:
    """The nodes of a lab by name, and their cables."""

    nodes: Mapping[str, Node]
    cables: tuple[LabCable, ...]

    @property
    def far_ends(self) -> dict[End, End | None]:
        """Return the far end of every end of a running node; None if the cable is open."""
        far_ends: dict[End, End | None] = {}
        for cable in self.cables:
            far_ends[cable.near] = cable.far
            if cable.far is not None:
                far_ends[cable.far] = cable.near
        return far_ends


def record(topology: LabTopology) -> bytes:
    """Return a topology as JSON."""
    return json.dumps(as_json(topology), indent=1, ensure_ascii=False).encode()


def read_record(text: bytes) -> LabTopology:
    """Return the topology that `record` wrote; raises ValueError if the text is not one."""
    topology: LabTopology = read_value(LabTopology, load_text(text.decode()))
    return topology


def container_name(lab: str, node: str, definition: Node) -> str:
    """Return the name of a node's container, by Containerlab's default prefix."""
    if definition["kind"] == EXTERNAL_KIND:
        return node
    return f"clab-{lab}-{node}"


def waiting_end(lab: str, end: End) -> str:
    """Return the interface on the host at which a cable of ``end`` waits for its far end."""
    # Every process computes the same name; nothing has to be recorded to find it again.
    digest = hashlib.sha256("/".join((lab, *end)).encode()).hexdigest()
    return f"rw{digest}"[:_INTERFACE_LETTERS]


def joined_link(near: End, far: End) -> dict[str, Any]:
    """Return a cable between two nodes as Containerlab reads it."""
    return {"type": "veth", "mtu": LINK_MTU_BYTES, "endpoints": [_endpoint(near), _endpoint(far)]}


def open_link(lab: str, end: End, node: str = "") -> dict[str, Any]:
    """Return an open cable as Containerlab reads it.

    ``node`` is the name of the end's node in the topology, empty if it has the same name there.
    """
    end_node, interface = end
    return {
        "type": "host",
        "mtu": LINK_MTU_BYTES,
        "host-interface": waiting_end(lab, end),
        "endpoint": _endpoint((node or end_node, interface)),
    }


def _endpoint(end: End) -> dict[str, str]:
    """Return an end as Containerlab reads it."""
    node, interface = end
    return {"node": node, "interface": interface}
