"""Containerlab's command line as typed calls: deploy, inspect, destroy.

Run with versions 0.69.3 and 0.79.0, read in the sources from 0.45 on. A failing command inside a node does not fail
``containerlab exec``: its exit status stands in the JSON. Faults that people meet (no Docker, no root, no image, a name
or port in use) have messages.
"""

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from railweave.errors import RailweaveError
from railweave.wording import command_line

CHECKED_VERSION = "0.69.3 and 0.79.0"
# By kind of the switches, the first Containerlab that reads what is rendered: links with an MTU, the kind sonic-vm.
OLDEST = {"sonic-vs": (0, 45, 0), "sonic-vm": (0, 56, 0)}
_FILLS_IN_MAC = (0, 79, 0)
_DEPLOY_S = 900.0
_DESTROY_S = 300.0
_READ_S = 60.0
_VERSION = re.compile(r"^\s*version:\s*v?([0-9]+\.[0-9]+\.[0-9]+)", re.MULTILINE)
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_SHOWN_LINES = 6
_RUNS_ALREADY = "a lab of this name runs already"
_TIMES = 5
_PAUSE_S = 0.5
# What Containerlab says when a container of another lab vanished while it looked.
_FLEETING = "could not list containers"

_FAULTS: tuple[tuple[str, str], ...] = (
    (
        r"root privileges|must be run as root|permission denied while trying to connect",
        "Containerlab needs root: run the command as root or with sudo",
    ),
    (
        r"cannot connect to the docker daemon|docker daemon running|docker\.sock.*no such file",
        "Docker does not answer: start it (systemctl start docker), and see that `docker info` works",
    ),
    (
        r"no such image|pull access denied|failed to pull|manifest unknown|unable to find image|error pulling",
        "an image is neither here nor can it be pulled: build the node image, or load the one that SONIC_IMAGE names",
    ),
    (
        r"CPU virtualization support is required",
        "a virtual machine needs a processor with virtualization (KVM), which this machine lacks: use docker-sonic-vs",
    ),
    (
        r"requires API version [0-9.]+, but the Docker daemon API version",
        "this Containerlab needs a newer Docker than the one that runs: upgrade Docker, see below for its API version",
    ),
    (
        r"port is already allocated|address already in use",
        "a port on 127.0.0.1 that the lab publishes is in use by another program or lab",
    ),
    (
        r"already exist|already been deployed|already in use by container|conflict\. the container name",
        f"{_RUNS_ALREADY}: take it down first (`{{down}}`)",
    ),
    (
        r"pool overlaps|overlaps with other",
        "the lab's management subnet overlaps with a network that is there: take the other lab or network away",
    ),
)


class ContainerlabError(RailweaveError):
    """Containerlab did not do what was asked."""


@dataclass(frozen=True, slots=True)
class ContainerNode:
    """A container of a lab: ``name`` as in the topology, whose ``folder`` is "" if Containerlab does not say."""

    name: str
    state: str
    folder: str = ""


class _Inspected(BaseModel):
    """A container in the JSON of ``containerlab inspect``, which leaves out what is empty."""

    name: str
    state: str = ""
    lab_name: str = ""
    topology: str = Field("", alias="absLabPath")


# One list named "containers" before 0.68, a list by the name of its lab since.
_INSPECT = TypeAdapter(dict[str, list[_Inspected]])
_Decoded = TypeVar("_Decoded")


class Containerlab:
    """The lab of one topology file."""

    def __init__(self, topology: Path, lab: str, program: str = "containerlab") -> None:
        """Nothing is run yet."""
        self.topology = topology
        self.lab = lab
        self.program = program

    def version(self) -> str:
        """Return the version. Raises ContainerlabError if Containerlab is not installed, or does not tell it."""
        version = _VERSION.search(_COLOR.sub("", self._run("version", timeout_s=_READ_S)))
        if version is None:
            raise ContainerlabError(f"{self.program} version does not say which version it is")
        return version[1]

    def machine_mac(self) -> str:
        """Return what a virtual machine's start-up configuration has for its MAC address: a variable, or empty.

        From 0.79 on Containerlab replaces the variable by the container's own address. Earlier versions do not know
        that address when they write the file, and the machine keeps the one that vrnetlab gave it. Raises
        ContainerlabError.
        """
        if _numbers(self.version()) >= _FILLS_IN_MAC:
            return "{{ .MacAddress }}"
        return ""

    def refuse_too_old(self, kind: str) -> None:
        """Raise ContainerlabError if this Containerlab is too old for switches of ``kind``, or not installed."""
        installed = self.version()
        oldest = OLDEST[kind]
        if _numbers(installed) < oldest:
            needed = ".".join(map(str, oldest))
            raise ContainerlabError(
                f"Containerlab {installed} is too old for a lab of kind {kind}, which needs {needed} or newer (checked "
                f"with {CHECKED_VERSION}): upgrade it, see https://containerlab.dev/install/"
            )

    def deploy(self) -> tuple[ContainerNode, ...]:
        """Start the lab and return its nodes; what a failed start left behind is removed before the error is raised."""
        try:
            self._run("deploy", "-t", str(self.topology), timeout_s=_DEPLOY_S)
            return self.inspect()
        except BaseException as fault:
            is_of_another = isinstance(fault, ContainerlabError) and _RUNS_ALREADY in str(fault)
            # A lab of this name that ran before is left as it is.
            if not is_of_another:
                with contextlib.suppress(ContainerlabError):
                    self.destroy()
            raise

    def inspect(self) -> tuple[ContainerNode, ...]:
        """Return the nodes of the lab, and of labs beside it (``LAB_2``), by name; none if the lab does not run."""
        try:
            # All labs, because Containerlab 0.79 fails for the name of a lab that does not run.
            answer = self._run("inspect", "--all", "-f", "json", timeout_s=_READ_S)
        except ContainerlabError as fault:
            if "no containers found" in str(fault):
                return ()
            raise
        own: list[_Inspected] = []
        for containers in _decoded(_INSPECT, answer).values():
            own += (container for container in containers if container.lab_name.partition("_")[0] == self.lab)
        prefix = f"clab-{self.lab}-"
        nodes: list[ContainerNode] = []
        for container in sorted(own, key=lambda container: container.name):
            folder = str(Path(container.topology).parent) if container.topology else ""
            nodes.append(ContainerNode(container.name.removeprefix(prefix), container.state, folder))
        return tuple(nodes)

    def destroy(self) -> None:
        """Stop the lab and remove its containers, network and folder; nothing happens if it does not run."""
        self._run("destroy", "-t", str(self.topology), "--cleanup", timeout_s=_DESTROY_S)

    def _run(self, *words: str, timeout_s: float) -> str:
        """Run Containerlab and return what it prints. Raises ContainerlabError if that fails.

        It is run again if it failed because a container of another lab vanished while it looked.
        """
        environ = {**os.environ, "CLAB_VERSION_CHECK": "disable", "CLAB_LABDIR_BASE": str(self.topology.parent)}
        try:
            for _ in range(_TIMES):
                completed = subprocess.run(
                    [self.program, *words], capture_output=True, text=True, timeout=timeout_s, env=environ, check=False
                )
                if completed.returncode == 0 or _FLEETING not in completed.stderr:
                    break
                time.sleep(_PAUSE_S)
        except FileNotFoundError:
            raise ContainerlabError(
                f"{self.program} is not installed; see https://containerlab.dev/install/ (checked with "
                f"{CHECKED_VERSION}). The simulator needs none of it: --target sim"
            ) from None
        except subprocess.TimeoutExpired:
            raise ContainerlabError(f"containerlab {words[0]} did not end within {timeout_s:g} s") from None
        if completed.returncode:
            raise ContainerlabError(readable_fault(words, completed.stderr or completed.stdout))
        return completed.stdout


def readable_fault(words: Sequence[str], said: str) -> str:
    """Return an error text for the command ``words``, which failed and printed ``said``.

    It begins with an explanation if the fault is a known one, and ends with the last lines that were printed.
    """
    printed = _COLOR.sub("", said).strip()
    last_lines = "\n".join(f"  {line}" for line in printed.splitlines()[-_SHOWN_LINES:])
    for pattern, meaning in _FAULTS:
        if re.search(pattern, printed, re.IGNORECASE):
            return f"{meaning.format(down=command_line('lab', 'down'))}\n{last_lines}"
    return f"containerlab {words[0]} failed:\n{last_lines}"


def _decoded(form: TypeAdapter[_Decoded], answer: str) -> _Decoded:
    """Return the values in an answer of Containerlab. Raises ContainerlabError if it has another form."""
    try:
        return form.validate_json(answer.strip() or "{}")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ContainerlabError(f"Containerlab's answer cannot be read: {where or 'JSON'}: {first['msg']}") from None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
