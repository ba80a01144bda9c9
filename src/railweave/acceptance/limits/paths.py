"""Where flows can go: the leaf of every NIC port, and the equal links that a hash chooses from."""

from dataclasses import dataclass

from railweave.acceptance.limits.basis import Payload
from railweave.acceptance.model import Tool
from railweave.fabric.model import Fabric


@dataclass(frozen=True, slots=True)
class FabricPaths:
    """The links of a fabric as flows see them; made once for a plan (`fabric_paths`)."""

    fabric: Fabric
    payload: Payload


def fabric_paths(fabric: Fabric, tool: Tool = Tool.PERFTEST) -> FabricPaths:
    """Return the paths of a fabric, with the packets that ``tool`` sends."""
    raise NotImplementedError
