"""The folder of a lab: its files, its switches, and how each of them is reached."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nornir_railweave.lab.containerlab import Containerlab

TOPOLOGY = "topology.clab.yml"
RUNNING = "running.json"
MORE = "more-{}.clab.yml"
HOST_ADDRESS = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class LabFolder:
    """A rendered lab of switches of one kind."""

    folder: Path
    name: str
    # On 127.0.0.1, by switch.
    ssh_ports: Mapping[str, int]
    # The switches are our node image, into which the lab's key pair is written.
    own_image: bool
    # The switches that are reached by `docker exec`; none where SSH is the way.
    containers: tuple[str, ...] = ()
    # Containerlab's name of the kind of node.
    kind: str = "sonic-vs"

    def part(self, names: Collection[str]) -> "LabFolder":
        """Return the same lab with these switches alone."""
        ports = {name: port for name, port in self.ssh_ports.items() if name in names}
        containers = tuple(name for name in self.containers if name in names)
        return replace(self, ssh_ports=ports, containers=containers)

    @property
    def containerlab(self) -> Containerlab:
        """Containerlab on this folder's topology."""
        return Containerlab((self.folder / TOPOLOGY).resolve(), self.name)

    @property
    def further(self) -> list[Containerlab]:
        """The labs of what was added to this one, in the order of their files."""
        return [self.beside(path) for path in sorted(self.folder.resolve().glob(MORE.format("*")))]

    def beside(self, topology: Path) -> Containerlab:
        """Return the lab of an addition by its topology file: ``NAME_2``, as fabrics have no `_` in their names."""
        number = topology.name.removesuffix(".clab.yml").rpartition("-")[2]
        return Containerlab(topology, f"{self.name}_{number}")

    def container(self, node: str) -> str:
        """Return the container of a node that this lab or a further one starts."""
        return f"clab-{self.name}-{node}"
