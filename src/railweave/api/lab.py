"""The fabric on Containerlab: scaled down if it is large, grown to its reserve, with factory-fresh switches."""

import contextlib
import importlib.resources
import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import sonic_sim
from nornir_railweave.lab.containerlab import Containerlab, ContainerlabError
from nornir_railweave.lab.folder import LabFolder
from nornir_railweave.lab.growing import grow, refuse_obstacles, refuse_unable, running_topology
from nornir_railweave.lab.laboratory import ensure_image, has_image, one_at_a_time, running_nodes, start, stop
from railweave.api.design.intent import Designed, design_text, load_configurable
from railweave.api.project import STATE, Project
from railweave.api.simulator.sim import simulator_spec
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.fabric.releases import RELEASES
from railweave.files import write_private
from railweave.intent.load import load_intent
from railweave.lab.cables import LabTopology
from railweave.lab.growth import LabGrowth, growth
from railweave.lab.scale import attempts, fitting_reserve, needs_scaling, whole_reserve
from railweave.lab.topology import (
    MACHINE_KIND,
    NETWORK_SCRIPT,
    NODE_FACTS,
    SSH_PORTS_OF_A_LAB,
    ConfigDb,
    Lab,
    LabSwitch,
    NodeImage,
    clab_document,
    document_head,
    lab_diagnostics,
    lab_topology,
    node_files,
    ssh_ports,
    with_kept_ports,
)

__all__ = ["down", "render", "up"]

SCALED_INTENT = "intent.yml"
MAPPING = "mapping.md"
_FOLDER = STATE / "lab"
_UNBUILT = "railweave-lab-node"
_KINDS = ("sonic-vs", MACHINE_KIND)
_TRANSPORTS = ("ssh", "docker")


@dataclass(frozen=True, slots=True)
class RenderedLab:
    """A lab in its ``folder``, and its origin: ``intent``, of which ``claimed`` switches are deployed today.

    ``scaled`` is the text of the scaled-down intent, None if the intent itself fits a lab; ``mapping`` holds (what, in
    the intent, in the lab). ``fitting_reserve`` is what to write under the intent's ``topology`` so that it needs no
    scaling, empty if no reserve makes it fit. ``growth`` is what `up` added to a lab that was running, else None.
    """

    folder: Path
    intent: Path
    lab: Lab
    claimed: int
    scaled: str | None
    mapping: tuple[tuple[str, str, str], ...]
    fitting_reserve: str = ""
    growth: LabGrowth | None = None

    @property
    def name(self) -> str:
        """Return the name of the fabric."""
        return self.lab.fabric.name

    @property
    def runner(self) -> LabFolder:
        """Return what starts and stops it."""
        image = self.lab.image
        ports = {}
        if image.has_ssh:
            ports = {node.switch.name: node.ssh_port for node in self.lab.switches}
        containers: tuple[str, ...] = ()
        if image.transport == "docker":
            containers = tuple(node.switch.name for node in self.lab.switches)
        return LabFolder(self.folder, self.name, ports, own_image=image.ours, containers=containers, kind=image.kind)

    @property
    def deploy_intent(self) -> Path:
        """Return the intent to deploy on the lab."""
        if self.scaled is None:
            return self.intent
        return self.folder / SCALED_INTENT


def render(project: Project, out: Path | None = None, *, environ: Mapping[str, str] | None = None) -> RenderedLab:
    """Write the Containerlab topology of the intent into ``out``, by default ``.railweave/lab/FABRIC``.

    SONIC_IMAGE in ``environ`` (by default that of the process) names a SONiC image instead of railweave's node image,
    SONIC_KIND its kind and SONIC_TRANSPORT how commands reach it. With SONIC_FRR, a release, railweave's own image
    prints its running configuration as the FRR of that release does. Raises RefusedError if the intent has errors or
    cannot become a lab, UsageError for an unknown kind, transport or release.
    """
    if environ is None:
        environ = os.environ
    lab = rendered(project.intent, _with_mac(chosen_image(environ)))
    if out is not None:
        lab = replace(lab, folder=out)
    write_lab(lab)
    return lab


def up(project: Project, *, environ: Mapping[str, str] | None = None, wait: float | None = None) -> RenderedLab:
    """Render the lab and start it; the whole reserve is cabled, with its ports down.

    A lab that runs gets the nodes and cables that it lacks, and nothing that runs is touched or removed. Nodes that run
    in the lab of another fabric of the intent are cabled there, and have both fabrics; so start the lab that most nodes
    are in first. ``wait`` is how many seconds the switches may take to boot, by default 120, of virtual machines 900.
    Raises as `render` does, and ContainerlabError; whatever this call started is stopped then.
    """
    if environ is None:
        environ = os.environ
    lab = rendered(project.intent, _with_mac(chosen_image(environ)))
    # The image is built before the lock is taken: that takes minutes the first time, and touches no lab.
    lab = _with_joined_nodes(_with_images(lab))
    refuse_unable(lab.runner)
    with one_at_a_time(f"railweave-lab-{lab.name}"):
        running = running_topology(lab.runner)
        if running is not None:
            return _grow(lab, running, wait)
        start(lab.runner, lab_topology(lab.lab), lambda: write_lab(lab), wait)
        return lab


def _grow(rendered: RenderedLab, running: LabTopology, wait: float | None) -> RenderedLab:
    """Add to the running lab the nodes and cables that it lacks, and return it; raises ContainerlabError."""
    lab = with_kept_ports(rendered.lab, running)
    rendered = replace(rendered, lab=lab)
    lab_growth = growth(rendered.name, running, lab_topology(lab), document_head(rendered.name), lab.image.takes_ports)
    refuse_obstacles(rendered.name, lab_growth)
    routes = _missing_routes(rendered, running)
    grow(rendered.runner, lab_growth, lambda: write_lab(rendered, lab_growth.added), routes, wait)
    # The files of running nodes are replaced only after their routes are set: if that fails, the next attempt finds
    # the missing routes by comparing these files.
    write_lab(rendered, routes)
    return replace(rendered, growth=lab_growth)


def _missing_routes(rendered: RenderedLab, running: LabTopology) -> dict[str, tuple[str, ...]]:
    """Return the commands that add the routes which running GPU nodes lack, to leaves that were not rendered before."""
    routes: dict[str, tuple[str, ...]] = {}
    for path, text in node_files(rendered.lab).items():
        script = rendered.folder / path
        node = script.parent.name
        is_of_running_node = node in running.nodes and script.name == NETWORK_SCRIPT and script.exists()
        if not is_of_running_node:
            continue
        existing = set(script.read_text(encoding="utf-8").splitlines())
        lines = tuple(line for line in text.splitlines() if " route add " in line and line not in existing)
        if lines:
            routes[node] = lines
    return routes


def down(project: Project | None = None) -> dict[str, bool]:
    """Stop the lab of ``project``, by default all of the working directory, and remove containers, network and files.

    Returns for each lab whether it was running.
    """
    if project is None:
        folders = sorted(_FOLDER.glob("*"))
    else:
        folders = [_FOLDER / load_intent(project.intent).fabric]
    return {folder.name: stop(LabFolder(folder, folder.name, {}, own_image=True)) for folder in folders}


def chosen_image(environ: Mapping[str, str]) -> NodeImage:
    """Return the switch image that SONIC_IMAGE, SONIC_KIND and SONIC_TRANSPORT name, else railweave's own.

    SONIC_TRANSPORT is ``ssh`` or ``docker``; docker-sonic-vs has no SSH server. Raises UsageError for an unknown value,
    or for values that exclude each other.
    """
    name = environ.get("SONIC_IMAGE", "")
    kind = _choice(environ, "SONIC_KIND", _KINDS)
    transport = _choice(environ, "SONIC_TRANSPORT", _TRANSPORTS)
    frr = _choice(environ, "SONIC_FRR", RELEASES)
    if kind == "sonic-vm" and transport == "docker":
        raise UsageError(
            "SONIC_TRANSPORT=docker does not reach a sonic-vm: `docker exec` enters the virtual machine's launcher"
        )
    if not name:
        return _own_image(kind, transport, frr)
    if frr:
        raise UsageError(
            "SONIC_FRR is for railweave's node image; the image that SONIC_IMAGE names has an FRR of its own"
        )
    kind = kind or "sonic-vs"
    if transport:
        return NodeImage(name, kind, ours=False, transport=transport)
    if kind == "sonic-vs":
        # docker-sonic-vs runs no SSH server; a virtual machine is reached in no other way.
        return NodeImage(name, kind, ours=False, transport="docker")
    return NodeImage(name, kind, ours=False, transport="ssh")


def _own_image(kind: str, transport: str, release: str) -> NodeImage:
    """Return railweave's node image; if a SONiC ``release`` is named, it prints as the FRR of that release does.

    Raises UsageError for a virtual machine, which needs an image of its own.
    """
    if kind == "sonic-vm":
        raise UsageError("SONIC_KIND=sonic-vm needs SONIC_IMAGE: railweave's node image is not a virtual machine")
    frr = ""
    if release:
        frr = RELEASES[release].frr
    return NodeImage(_UNBUILT, transport=transport or "ssh", frr=frr)


def _choice(environ: Mapping[str, str], variable: str, choices: Collection[str]) -> str:
    """Return the value of a variable, empty if it is not set. Raises UsageError if it is not one of ``choices``."""
    value = environ.get(variable, "")
    if value and value not in choices:
        raise UsageError(f"{variable} is {value!r}; it must be one of {', '.join(choices)}")
    return value


def _with_mac(image: NodeImage) -> NodeImage:
    """Return the image, that of a virtual machine with the MAC address that Containerlab here lets it state."""
    if image.kind != MACHINE_KIND:
        return image
    # `lab render` works without Containerlab, and `lab up` reports that it is missing.
    with contextlib.suppress(ContainerlabError):
        return replace(image, mac=Containerlab(Path(), "").machine_mac())
    return image


def rendered(path: Path, image: NodeImage) -> RenderedLab:
    """Return the lab of the intent at ``path``, scaled down if it is too large for a lab; nothing is written.

    Raises RefusedError if the intent has errors or cannot become a lab.
    """
    designed = load_configurable(path)
    folder = _FOLDER / designed.fabric.name
    lab_fabric = _lab_fabric(designed, image)
    # For the intent itself, before it is scaled down.
    smaller_reserve = fitting_reserve(designed.fabric, lab_fabric)
    scaled_text: str | None = None
    mapping: tuple[tuple[str, str, str], ...] = ()
    if needs_scaling(designed.fabric, lab_fabric):
        scaled = _scale_down(path, designed, str(folder / SCALED_INTENT))
        scaled_text = scaled.text
        mapping = scaled.mapping
        designed = scaled.designed
        lab_fabric = _lab_fabric(designed, image)
    diagnostics = lab_diagnostics(lab_fabric)
    if diagnostics:
        raise RefusedError(diagnostics)
    return RenderedLab(
        folder=folder,
        intent=path,
        lab=_lab(designed, lab_fabric, image),
        claimed=len(designed.fabric.switches),
        scaled=scaled_text,
        mapping=mapping,
        fitting_reserve=smaller_reserve,
    )


class _ScaledDesign(NamedTuple):
    """A scaled-down intent: its text, its mapping as in `RenderedLab`, and its design."""

    text: str
    mapping: tuple[tuple[str, str, str], ...]
    designed: Designed


def _scale_down(path: Path, designed: Designed, name: str) -> _ScaledDesign:
    """Return the first scaled-down intent that can be designed.

    Raises the RefusedError of the first attempt if all are refused.
    """
    first_refusal: RefusedError | None = None
    for attempt in attempts(designed.intent, designed.fabric, designed.catalog):
        text = _scaled_intent_text(path, attempt.keys)
        try:
            return _ScaledDesign(text, attempt.mapping, design_text(text, name))
        except RefusedError as refused:
            first_refusal = first_refusal or refused
    raise first_refusal or RefusedError(())


def _lab_fabric(designed: Designed, image: NodeImage) -> Fabric:
    """Return the fabric that a lab starts: with the whole reserve, unless its switches are virtual machines.

    A virtual machine takes 4 GiB, so that only those of the intent itself are started.
    """
    if image.kind == MACHINE_KIND:
        return designed.fabric
    return _whole_reserve(designed)


def _whole_reserve(designed: Designed) -> Fabric:
    return whole_reserve(designed.intent, designed.fabric, designed.catalog)


def _reserve(designed: Designed, image: NodeImage) -> Fabric | None:
    """Return the fabric with the whole reserve, for which a lab of virtual machines makes ports and routes.

    None if the switches are not virtual machines, or if the whole reserve does not fit into a lab.
    """
    if image.kind != MACHINE_KIND:
        return None
    whole = _whole_reserve(designed)
    if len(whole.switches) > SSH_PORTS_OF_A_LAB or lab_diagnostics(whole):
        return None
    return whole


def _scaled_intent_text(path: Path, keys: Mapping[str, Any]) -> str:
    head = f"# {path.name} scaled down to a lab by `railweave lab render`; {MAPPING} says how.\n"
    return head + yaml.safe_dump(dict(keys), sort_keys=False, width=120)


def _lab(designed: Designed, lab_fabric: Fabric, image: NodeImage) -> Lab:
    """Return the lab of ``lab_fabric``, in which the switches of ``designed`` are claimed."""
    reserve = _reserve(designed, image)
    ports = ssh_ports(reserve or lab_fabric)
    devices = {device.name: device for device in simulator_spec(lab_fabric, designed.catalog).devices}

    def lab_switch(switch: Switch) -> LabSwitch:
        """Return a switch of the lab with the configuration that it boots."""
        device = devices[switch.name]
        claimed = switch.name in designed.fabric.switch_of
        boot = _with_ports_down(device.factory)
        if image.kind == MACHINE_KIND:
            # It is loaded over the image's own configuration, and must not replace its login or its address.
            localhost = {"hostname": switch.name}
            if image.mac:
                localhost["mac"] = image.mac
            boot = {"DEVICE_METADATA": {"localhost": localhost}}
        return LabSwitch(
            switch=switch, boot=boot, serial=device.serial, mac=device.mac, claimed=claimed, ssh_port=ports[switch.name]
        )

    host_image = image.name if image.ours else _UNBUILT
    return Lab(lab_fabric, tuple(map(lab_switch, lab_fabric.switches)), image, host_image, reserve=reserve)


def _with_ports_down(factory: ConfigDb) -> ConfigDb:
    """Return the factory configuration with its ports shut, as a virtual switch boots."""
    ports = {name: {**row, "admin_status": "down"} for name, row in factory["PORT"].items()}
    return {**factory, "PORT": ports}


def _with_images(rendered: RenderedLab) -> RenderedLab:
    """Return the lab with the node image built; raises ContainerlabError if that fails or a named image is missing."""
    image = rendered.lab.image
    if not image.ours and not has_image(image.name):
        raise ContainerlabError(
            f"SONIC_IMAGE names {image.name}, which is not on this machine: `docker load` or pull it"
        )
    built = ensure_image(image_sources())
    lab = replace(rendered.lab, host_image=built)
    if image.ours:
        lab = replace(lab, image=replace(image, name=built))
    return replace(rendered, lab=lab)


def _with_joined_nodes(rendered: RenderedLab) -> RenderedLab:
    """Return the lab, joined to those of its nodes that are running in the labs of other fabrics of the intent."""
    # The entry of `running_nodes` for each of these nodes.
    joined: dict[str, str] = {}
    # A scaled-down lab has fewer nodes than the intent, so that its nodes are not those of the other labs.
    if rendered.scaled is None:
        for other_fabric in load_intent(rendered.intent).others:
            running = running_nodes(other_fabric.fabric)
            for host in rendered.lab.fabric.hosts:
                if host.name in running:
                    joined.setdefault(host.name, running[host.name])
    return replace(rendered, lab=replace(rendered.lab, joined=joined))


def image_sources() -> Path:
    """Return the folder with ``lab_node`` and ``sonic_sim`` side by side, from which the node image is built."""
    repository = Path(__file__).resolve().parents[3] / "topologies"
    if (repository / "lab_node" / "Dockerfile").is_file():
        return repository
    packed = importlib.resources.files("railweave") / "_lab_node"
    if not packed.is_dir():
        raise RailweaveError("this installation lacks the lab's node image; use a clone of the repository")
    folder = STATE / "lab-image"
    # Copied afresh: an update of the package must not leave files of the version before.
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(str(packed), folder / "lab_node")
    shutil.copytree(Path(sonic_sim.__file__).parent, folder / "sonic_sim")
    return folder


def write_lab(rendered: RenderedLab, only: Collection[str] | None = None) -> None:
    """Write the topology, the nodes' files and, for a scaled-down intent, that intent and its mapping.

    ``only`` are the nodes whose files are written; the others are running.
    """
    files = {"topology.clab.yml": yaml.safe_dump(clab_document(rendered.lab), sort_keys=False, width=120)}
    for node_path, text in node_files(rendered.lab).items():
        # The path is nodes/NAME/FILE.
        _, node, _ = node_path.split("/")
        if only is None or node in only:
            files[node_path] = text
    if rendered.scaled is not None:
        rows = "".join(f"| {what} | {in_intent} | {in_lab} |\n" for what, in_intent, in_lab in rendered.mapping)
        head = f"# {rendered.intent.name} as a lab\n\n| | intent | lab |\n|---|---|---|\n"
        files[SCALED_INTENT] = rendered.scaled
        files[MAPPING] = head + rows
    for name, text in files.items():
        path = rendered.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, text.encode())
        if path.name == NODE_FACTS:
            # The commands of a node's login user read it; it holds names and addresses only.
            path.chmod(0o644)
