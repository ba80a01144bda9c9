"""From an intent to the files of its lab: scaled where it must be, grown to the reserve, its switches factory-fresh."""

import importlib.resources
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.api.project import STATE, Designed, design_text, load_designed
from railweave.errors import RailweaveError, RefusedError, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nornir_railweave.lab.laboratory import LabFolder
    from railweave.fabric.model import Fabric, Switch
    from railweave.lab.topology import ConfigDb, Lab, NodeImage

SCALED_INTENT = "intent.yml"
MAPPING = "mapping.md"
_UNBUILT = "railweave-lab-node"
_KINDS, _TRANSPORTS = ("sonic-vs", "sonic-vm"), ("ssh", "docker")


@dataclass(frozen=True, slots=True)
class RenderedLab:
    """A lab with what it stands for. ``scaled`` is the small intent's text, None where the intent is taken as it is."""

    name: str
    intent: Path
    lab: "Lab"
    claimed: int
    scaled: str | None
    mapping: tuple[tuple[str, str, str], ...]

    def folder(self, path: Path) -> "LabFolder":
        """Return what starts and stops it in the folder ``path``."""
        from nornir_railweave.lab.laboratory import LabFolder

        image = self.lab.image
        names = [one.switch.name for one in self.lab.switches]
        ports = {one.switch.name: one.ssh_port for one in self.lab.switches} if image.has_ssh else {}
        containers = tuple(names) if image.transport == "docker" else ()
        return LabFolder(path, self.name, ports, own_image=image.ours, containers=containers)

    def deploy_intent(self, folder: Path) -> Path:
        """Return the intent to deploy on the lab."""
        return self.intent if self.scaled is None else folder / SCALED_INTENT

    def summary(self, folder: Path) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "lab": self.name,
            "folder": str(folder),
            "intent": str(self.deploy_intent(folder)),
            "image": self.lab.image.name,
            "kind": self.lab.image.kind,
            "transport": self.lab.image.transport,
            "switches": len(self.lab.switches),
            "claimed": self.claimed,
            "hosts": len(self.lab.fabric.hosts),
            "links": len(self.lab.fabric.links),
            "mapping": [{"what": what, "intent": there, "lab": here} for what, there, here in self.mapping],
        }


def lab_folder(fabric: str) -> Path:
    """Return the folder of a fabric's lab."""
    return STATE / "lab" / fabric


def chosen_image(environ: Mapping[str, str]) -> "NodeImage":
    """Return the switch image that SONIC_IMAGE and SONIC_KIND name, else railweave's own.

    SONIC_TRANSPORT says how commands get there: ``ssh`` or ``docker``; docker-sonic-vs has no SSH server.
    """
    from railweave.lab.topology import NodeImage

    name, kind, transport = (environ.get(f"SONIC_{what}", "") for what in ("IMAGE", "KIND", "TRANSPORT"))
    for variable, value, known in (("KIND", kind, _KINDS), ("TRANSPORT", transport, _TRANSPORTS)):
        if value and value not in known:
            raise UsageError(f"SONIC_{variable} is {value!r}; it is one of {', '.join(known)}")
    if kind == "sonic-vm" and transport == "docker":
        raise UsageError(
            "SONIC_TRANSPORT=docker does not reach a sonic-vm: `docker exec` enters the machine's launcher"
        )
    if not name:
        if kind == "sonic-vm":
            raise UsageError("SONIC_KIND=sonic-vm needs SONIC_IMAGE: railweave's node image is no virtual machine")
        return NodeImage(_UNBUILT, transport=transport or "ssh")
    kind = kind or "sonic-vs"
    return NodeImage(name, kind, ours=False, transport=transport or ("docker" if kind == "sonic-vs" else "ssh"))


def rendered(path: Path, image: "NodeImage") -> RenderedLab:
    """Return the lab of the intent at ``path``; raises RefusedError."""
    from railweave.catalog.load import load_catalog
    from railweave.lab.reserve import whole_reserve
    from railweave.lab.scale import needs_scaling, scaled
    from railweave.lab.topology import lab_faults

    catalog = load_catalog()
    designed = load_designed(path)
    whole = whole_reserve(designed.intent, designed.fabric, catalog)
    text: str | None = None
    mapping: tuple[tuple[str, str, str], ...] = ()
    if needs_scaling(designed.intent, designed.fabric, whole):
        small = scaled(designed.intent, designed.fabric)
        text, mapping = _yaml(path, small.keys), small.mapping
        designed = design_text(text, str(lab_folder(designed.fabric.name) / SCALED_INTENT))
        whole = whole_reserve(designed.intent, designed.fabric, catalog)
    if faults := lab_faults(whole):
        raise RefusedError(faults)
    return RenderedLab(
        designed.fabric.name, path, _lab(designed, whole, image), len(designed.fabric.switches), text, mapping
    )


def _yaml(path: Path, keys: Mapping[str, Any]) -> str:
    import yaml

    head = f"# {path.name} scaled down to a lab by `railweave lab render`; {MAPPING} says how.\n"
    return head + yaml.safe_dump(dict(keys), sort_keys=False, width=120)


def _lab(designed: Designed, whole: "Fabric", image: "NodeImage") -> "Lab":
    from railweave.catalog.load import load_catalog
    from railweave.cli.simulating import simulator_spec
    from railweave.lab.topology import Lab, LabSwitch, ssh_ports

    ports = ssh_ports(whole)
    devices = {one.name: one for one in simulator_spec(whole, load_catalog()).devices}

    def lab_switch(switch: "Switch") -> LabSwitch:
        device = devices[switch.name]
        claimed = switch.name in designed.fabric.switch_of
        boot = with_ports_down(device.factory)
        return LabSwitch(switch, boot, device.serial, device.mac, claimed, ports[switch.name])

    host_image = image.name if image.ours else _UNBUILT
    return Lab(whole, tuple(lab_switch(one) for one in whole.switches), image, host_image)


def with_ports_down(factory: "ConfigDb") -> "ConfigDb":
    """Return the factory configuration with its ports shut, as a virtual switch boots: nothing talks unasked."""
    ports = {name: {**row, "admin_status": "down"} for name, row in factory["PORT"].items()}
    return {**factory, "PORT": ports}


def ready_images(made: RenderedLab) -> RenderedLab:
    """Return the lab with the node image built; raises ContainerlabError, also where a named image is not here."""
    from nornir_railweave.lab.containerlab import ContainerlabError
    from nornir_railweave.lab.laboratory import ensure_image, has_image

    image = made.lab.image
    if not image.ours and not has_image(image.name):
        raise ContainerlabError(
            f"SONIC_IMAGE names {image.name}, which is not on this machine: `docker load` or pull it"
        )
    built = ensure_image(image_sources())
    lab = replace(made.lab, host_image=built, image=replace(image, name=built) if image.ours else image)
    return replace(made, lab=lab)


def image_sources() -> Path:
    """Return the folder with ``lab_node`` and ``sonic_sim`` side by side, from which the node image is built."""
    repository = Path(__file__).resolve().parents[3] / "topologies"
    if (repository / "lab_node" / "Dockerfile").is_file():
        return repository
    packed = importlib.resources.files("railweave") / "_lab_node"
    if not packed.is_dir():
        raise RailweaveError("this installation came without the lab's node image; use a clone of the repository")
    import sonic_sim

    folder = STATE / "lab-image"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(str(packed), folder / "lab_node")
    shutil.copytree(Path(sonic_sim.__file__).parent, folder / "sonic_sim")
    return folder


def write_lab(made: RenderedLab, folder: Path) -> None:
    """Write the topology, the nodes' files and, where the intent was scaled, the small intent and its mapping."""
    import yaml

    from railweave.files import write_private
    from railweave.lab.topology import NODE_FACTS, clab_document, node_files

    topology = yaml.safe_dump(clab_document(made.lab), sort_keys=False, width=120)
    files = {"topology.clab.yml": topology, **node_files(made.lab)}
    if made.scaled is not None:
        files |= {SCALED_INTENT: made.scaled, MAPPING: _mapping_text(made)}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, text.encode())
        if path.name == NODE_FACTS:
            path.chmod(0o644)  # the commands of a node's login user read it, and it holds names and addresses alone


def _mapping_text(made: RenderedLab) -> str:
    lines = [f"# {made.intent.name} as a lab", "", "| | intent | lab |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {what} | {there} | {here} |" for what, there, here in made.mapping), ""])


def lab_view(made: RenderedLab, folder: Path, *, running: bool = False) -> "RenderableType":
    """Return what a person reads after a lab was rendered or started."""
    lab = made.lab
    lines = [
        f"lab {made.name}: {made.claimed} switches and {len(lab.switches) - made.claimed} more in reserve, "
        f"{len(lab.fabric.hosts)} hosts, {len(lab.fabric.links)} links; image {lab.image.name} ({lab.image.kind})",
        *(f"  {what}: {there} -> {here}" for what, there, here in made.mapping),
    ]
    if running:
        lines.append(f"next: railweave deploy {made.deploy_intent(folder)} --target lab --provision")
    else:
        lines.append(f"written to {folder}; start it: railweave lab up {made.intent}")
    return "\n".join(lines)
