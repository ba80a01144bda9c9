"""Bringing a rendered lab up: the node image, keys, containers, and waiting until every switch answers.

The folder of a lab holds all that it needs: ``topology.clab.yml``, ``nodes/NAME/…`` and, once it runs,
``endpoints.json`` (addresses, user and keys, in the simulator's form) and ``running.json`` (its nodes and cables).
What is added to a running lab is a Containerlab lab of its own, ``more-2.clab.yml`` and so on.
"""

import contextlib
import fcntl
import hashlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import yaml

from nornir_railweave.lab.cable_ends import isolate, remove
from nornir_railweave.lab.containerlab import ContainerlabError
from nornir_railweave.lab.folder import HOST_ADDRESS, RUNNING, TOPOLOGY, LabFolder
from nornir_railweave.lab.keys import write_keys
from nornir_railweave.target.endpoints import (
    ENDPOINTS,
    Endpoints,
    SwitchEndpoint,
    read_endpoints,
    write_endpoints,
)
from railweave.codec import CodecError
from railweave.lab.cables import LabTopology, record, waiting_end

_TAKEN_DOWN = "the lab is taken down again"
_IMAGE = "railweave-lab-node"
_SOURCES = ("lab_node", "sonic_sim")
_BUILD_S = 1800.0
_POLL_S = 0.2
# How long switches may take to boot, by kind.
_BOOT_S = {"sonic-vs": 120.0, "sonic-vm": 900.0}


def image_tag(sources: Path) -> str:
    """Return the node image's name; the tag is a digest of everything that it is built from."""
    digest = hashlib.sha256()
    for path in _files(sources):
        digest.update(str(path.relative_to(sources)).encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{_IMAGE}:{digest.hexdigest()[:12]}"


def _files(sources: Path) -> list[Path]:
    paths = (path for name in _SOURCES for path in (sources / name).rglob("*"))
    return sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)


def ensure_image(sources: Path) -> str:
    """Build the node image unless it is there already; return its name. Raises ContainerlabError."""
    tag = image_tag(sources)
    if has_image(tag):
        return tag
    with one_at_a_time(tag.replace(":", "-")):
        if not has_image(tag):
            _build(tag, sources)
    return tag


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Hold a lock of this machine under ``name``, so that one process at a time builds an image or changes a lab."""
    with (Path(tempfile.gettempdir()) / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(tag: str, sources: Path) -> None:
    dockerfile = sources / "lab_node" / "Dockerfile"
    # The host's network: a build machine reaches Debian's packages as the host does.
    built = docker("build", "--network", "host", "-t", tag, "-f", str(dockerfile), str(sources), timeout_s=_BUILD_S)
    if built.returncode:
        last = "\n".join(f"  {line}" for line in (built.stderr or built.stdout).strip().splitlines()[-6:])
        raise ContainerlabError(f"the node image cannot be built:\n{last}")


def has_image(name: str) -> bool:
    """Tell whether an image is on this machine."""
    return docker("image", "inspect", name).returncode == 0


def running_nodes(name: str) -> dict[str, str]:
    """Return the containers that run in the lab ``name``, by the names of their nodes."""
    return {container.removeprefix(f"clab-{name}-"): container for container in _containers(name)}


def _containers(name: str, *options: str) -> list[str]:
    """Return the containers of a lab and of what was added to it; ``options`` are of `docker ps`."""
    form = '{{.Names}} {{.Label "containerlab"}}'
    lines = docker("ps", *options, "--filter", "label=containerlab", "--format", form).stdout.splitlines()
    containers: list[str] = []
    for line in lines:
        container, _, lab = line.partition(" ")
        # What was added to a running lab is a lab of its own beside it: `NAME_2`.
        if lab.partition("_")[0] == name:
            containers.append(container)
    return containers


def docker(*words: str, timeout_s: float = 60.0) -> "subprocess.CompletedProcess[str]":
    """Run a command of Docker, and return its output and exit status.

    Raises ContainerlabError if Docker is not installed, does not answer, or is not done within ``timeout_s`` seconds.
    A command that fails raises nothing.
    """
    try:
        completed = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=timeout_s, check=False)
    except FileNotFoundError:
        raise ContainerlabError(
            "Docker is not installed, and a lab runs in containers: install it (https://docs.docker.com/engine/install/),"
            " or use the simulator, `--target sim`"
        ) from None
    except subprocess.TimeoutExpired:
        raise ContainerlabError(f"docker {words[0]} did not end within {timeout_s:g} s") from None
    errors = completed.stderr.lower()
    if "cannot connect to the docker daemon" in errors:
        raise ContainerlabError(_unanswered(completed.stderr, "start it, `sudo systemctl start docker`"))
    if "permission denied while trying" in errors:
        raise ContainerlabError(_unanswered(completed.stderr, "run the command as root or with sudo"))
    return completed


def _unanswered(said: str, fix: str) -> str:
    """Return the error text that Docker's daemon does not answer, with a ``fix`` and what its client ``said``."""
    return f"Docker does not answer here: {fix}, and see that `docker info` works:\n  {said.strip()}"


def start(lab: LabFolder, topology: LabTopology, write: Callable[[], None], boot_s: float | None = None) -> None:
    """Start the lab whose files ``write`` writes, and return when every switch answers, within ``boot_s`` seconds.

    No lab of this name may run (`growing.running_topology`), as the folder is replaced. On any failure nothing of the
    lab is left running. Raises ContainerlabError.
    """
    refuse_used_ports(lab)
    shutil.rmtree(lab.folder, ignore_errors=True)
    write()
    write_keys(lab)
    containerlab = lab.containerlab
    ends = waiting_ends(lab.name, lab.folder / TOPOLOGY)
    remove(ends)
    try:
        containerlab.deploy()
    except BaseException:
        # Docker keeps a network to which containers are attached: those of another lab that was started meanwhile.
        docker("network", "rm", f"railweave-{lab.name}")
        remove(ends)
        raise
    try:
        isolate(ends)
        await_boot(lab, boot_s, _TAKEN_DOWN)
        note_endpoints(lab)
        (lab.folder / RUNNING).write_bytes(record(topology))
    except BaseException:
        containerlab.destroy()
        docker("network", "rm", f"railweave-{lab.name}")
        remove(ends)
        raise


def waiting_ends(lab: str, topology: Path) -> list[str]:
    """Return the interfaces on the host for the cable ends of a topology file.

    Those of cables whose far end runs by now are included.
    """
    ends: list[str] = []
    for link in yaml.safe_load(topology.read_text(encoding="utf-8"))["topology"]["links"]:
        if link["type"] == "host":
            ends.append(link["host-interface"])
        else:
            ends += (waiting_end(lab, (end["node"], end["interface"])) for end in link["endpoints"])
    return ends


def await_boot(lab: LabFolder, boot_s: float | None, otherwise: str) -> None:
    """Wait until the switches have booted, for ``boot_s`` seconds (None: by kind).

    ``otherwise`` is the part of an error text that says what happens if they do not. Raises ContainerlabError.
    """
    if boot_s is None:
        boot_s = _BOOT_S[lab.kind]
    wait_for_switches(lab, boot_s, otherwise)
    if not lab.own_image:
        prepare_containers(lab, otherwise=otherwise)


def stop(lab: LabFolder) -> bool:
    """Stop the lab, and remove its folder and all that is left of it; return whether it ran."""
    ran = bool(lab.containerlab.inspect())
    topologies: list[Path] = []
    for further in lab.further:
        topologies.append(further.topology)
        further.destroy()
    if (lab.folder / TOPOLOGY).exists():
        topologies.append(lab.folder / TOPOLOGY)
        lab.containerlab.destroy()
    remove(end for path in topologies for end in waiting_ends(lab.name, path))
    shutil.rmtree(lab.folder, ignore_errors=True)
    # Also if the lab does not run: stopped containers and its network may be there.
    _remove_remains(lab.name)
    return ran


def _remove_remains(name: str) -> None:
    """Remove the containers and the network of a lab by its name; Containerlab removes only those of a topology file.

    Raises ContainerlabError if the network stays, for example because other containers are attached to it.
    """
    containers = _containers(name, "--all")
    if containers:
        docker("rm", "--force", "--volumes", *containers, timeout_s=300.0)
    network = f"railweave-{name}"
    removed = docker("network", "rm", network)
    if removed.returncode != 0 and docker("network", "inspect", network).returncode == 0:
        raise ContainerlabError(
            f"the network {network} is still there: {removed.stderr.strip()}; `docker network inspect {network}` lists"
            f" the containers in it: disconnect or remove them, then `docker network rm {network}`"
        )


def refuse_used_ports(lab: LabFolder) -> None:
    """Raise ContainerlabError naming a loopback port that the lab needs and another program holds."""
    for name, port in lab.ssh_ports.items():
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST_ADDRESS, port))
            except OSError:
                message = f"port {port} on {HOST_ADDRESS}, the SSH port of {name}, is in use by another program"
                raise ContainerlabError(message) from None


def wait_for_switches(lab: LabFolder, ready_s: float, otherwise: str = _TAKEN_DOWN) -> None:
    """Wait until every switch has booted: its sshd, which starts last, answers, and a virtual machine is healthy.

    The sshd of a virtual machine answers before its first password is changed. Docker's health status of vrnetlab's
    container says when login, host name and start-up configuration are in place (vrnetlab ``sonic/docker/launch.py``).

    Raises ContainerlabError if that takes more than ``ready_s`` seconds; ``otherwise`` is a part of its text.
    """
    deadline_s = time.monotonic() + ready_s
    waiting = dict(lab.ssh_ports)
    while waiting:
        waiting = {name: port for name, port in waiting.items() if not (_healthy(lab, name) and _greets(port))}
        if not waiting:
            return
        if time.monotonic() > deadline_s:
            missing = "not healthy"
            if all(_healthy(lab, name) for name in waiting):
                missing = "no SSH"
            late = f"{', '.join(waiting)}: {missing} within {ready_s:g} s; {otherwise}"
            raise ContainerlabError(late + _boot_log(lab, waiting))
        time.sleep(_POLL_S)


def prepare_containers(lab: LabFolder, ready_s: float = 600.0, otherwise: str = _TAKEN_DOWN) -> None:
    """Run ``prepare.sh`` in the containers of other images than ours, so that SONiC's commands manage them.

    All run at once. Raises ContainerlabError if one fails, or does not end within ``ready_s`` seconds; ``otherwise`` is
    a part of its text.
    """
    pending = {name: _preparing(lab.container(name)) for name in lab.containers}
    deadline_s = time.monotonic() + ready_s
    try:
        for name, process in pending.items():
            output, _ = process.communicate(timeout=max(0.0, deadline_s - time.monotonic()))
            if process.returncode:
                last_lines = "".join(f"\n  {line}" for line in output.strip().splitlines()[-6:])
                raise ContainerlabError(f"{name} cannot be prepared; {otherwise}{last_lines}")
    except subprocess.TimeoutExpired:
        raise ContainerlabError(f"{name}: CONFIG_DB and FRR are not there within {ready_s:g} s; {otherwise}") from None
    finally:
        for process in pending.values():
            process.kill()
            process.communicate()


def _preparing(container: str) -> "subprocess.Popen[str]":
    words = ["docker", "exec", container, "sh", "/lab/prepare.sh"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _boot_log(lab: LabFolder, waiting: Iterable[str]) -> str:
    """Return the last lines that the boot of the first waiting node printed, each after a line feed."""
    container = lab.container(next(iter(waiting)))
    if lab.own_image:
        log = docker("exec", container, "tail", "-n", "5", "/var/log/swss.log").stdout.strip()
    else:
        # Containerlab gives a container a terminal, so its standard error is in this output too.
        log = docker("logs", "--tail", "5", container).stdout.strip()
    return "".join(f"\n  {line}" for line in log.splitlines())


def _healthy(lab: LabFolder, name: str) -> bool:
    """Tell whether Docker calls a virtual machine healthy; containers have no such status."""
    if lab.kind != "sonic-vm":
        return True
    status = docker("inspect", "--format", "{{.State.Health.Status}}", lab.container(name))
    return status.stdout.strip() == "healthy"


def _greets(port: int) -> bool:
    """Tell whether an SSH server answers at a port; Docker's proxy accepts connections before it does."""
    try:
        with socket.create_connection((HOST_ADDRESS, port), 2.0) as connection:
            connection.settimeout(2.0)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def note_endpoints(lab: LabFolder) -> None:
    """Write how the switches are reached into the lab's ``endpoints.json``; switches already in the file stay there.

    Raises ContainerlabError if the file that is there cannot be read.
    """
    folder = lab.folder.resolve()
    if lab.containers:
        # `docker exec` needs the container's name alone, so the port is 0.
        started = {name: SwitchEndpoint(lab.container(name), 0) for name in lab.containers}
        endpoints = Endpoints(started, options={"transport": "docker"})
    else:
        started = {name: SwitchEndpoint(HOST_ADDRESS, port) for name, port in lab.ssh_ports.items()}
        endpoints = Endpoints(started)
    file = folder / ENDPOINTS
    if file.exists():
        try:
            before = read_endpoints(file)
        except CodecError as fault:
            raise ContainerlabError(f"{file} cannot be read: {fault}") from fault
        endpoints = replace(endpoints, devices={**before.devices, **started})
    if lab.own_image:
        endpoints = replace(
            endpoints,
            username="admin",
            key_file=str(folder / "id_ed25519"),
            known_hosts=str(folder / "known_hosts"),
        )
    write_endpoints(file, endpoints)
