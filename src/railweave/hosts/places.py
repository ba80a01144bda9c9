"""The places of a fabric's files on a node, and the names of its units.

Each of several fabrics has files of its own, so that it is deployed and rolled back without the others.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from railweave.fabric.policy import NetworkBackend

PROGRAM = "railweave-host"
UNIT = "railweave-rdma.service"
RULES = "railweave.rules"
DOCUMENT = "rails.json"
COUNTER_PROGRAM = "railweave-nic-counters"
COUNTER_SERVICE = "railweave-nic-counters.service"
COUNTER_TIMER = "railweave-nic-counters.timer"
PROGRAMS = frozenset({PROGRAM, COUNTER_PROGRAM})
"""The files of a node that are executed."""

_MODE = 0o644
_PROGRAM_MODE = 0o755
# netplan warns of files that others can read, and NetworkManager ignores them.
_PRIVATE_MODE = 0o600
_CONNECTIONS = "/etc/NetworkManager/system-connections/"
_UNITS = "/etc/systemd/system"
_PROGRAMS = "/usr/local/sbin"


@dataclass(frozen=True, slots=True)
class InstalledFile:
    """A file on the node: absolute path, permission bits, content."""

    path: str
    mode: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one fabric's files. ``part`` is its name if the intent has several fabrics, else empty."""

    part: str = ""

    @property
    def unit(self) -> str:
        """Return the unit that sets the NICs when the node starts."""
        return f"railweave-rdma{self._suffix}.service"

    @property
    def program(self) -> str:
        """Return the path of the program that the unit runs."""
        return f"{_PROGRAMS}/{PROGRAM}{self._suffix}"

    @property
    def command(self) -> str:
        """Return the command that the unit runs."""
        command = f"{self.program} apply"
        if self.part:
            command += f" --document {self.document}"
        return command

    @property
    def counter_program(self) -> str:
        """Return the path of the program that writes the counters of NICs."""
        return f"{_PROGRAMS}/{COUNTER_PROGRAM}{self._suffix}"

    @property
    def counter_command(self) -> str:
        """Return the command that writes the counters of NICs."""
        command = self.counter_program
        if self.part:
            command += f" --document {self.document}"
        return command

    @property
    def counter_timer(self) -> str:
        """Return the timer that runs this command; its service has the same name."""
        return f"{COUNTER_PROGRAM}{self._suffix}.timer"

    @property
    def textfile(self) -> str:
        """Return the name of the file that it writes for node_exporter."""
        return f"railweave_nics{self._suffix}.prom"

    @property
    def document(self) -> str:
        """Return the path of the document with the node's settings."""
        if self.part:
            return f"/etc/railweave/{self.part}.json"
        return f"/etc/railweave/{DOCUMENT}"

    @property
    def snapshot(self) -> str:
        """Return the path of the snapshot that a rollback restores."""
        return f"/var/lib/railweave/snapshot{self._suffix}.json"

    @property
    def start_at_boot(self) -> tuple[str, str]:
        """Return the link that enables the unit, and its target, as ``systemctl enable`` makes it."""
        return f"{_UNITS}/multi-user.target.wants/{self.unit}", f"../{self.unit}"

    def links(self, files: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the links that enable the units among the rendered ``files``, each with its target."""
        yield self.start_at_boot
        if COUNTER_TIMER in files:
            yield f"{_UNITS}/timers.target.wants/{self.counter_timer}", f"../{self.counter_timer}"

    @property
    def owned(self) -> tuple[str, ...]:
        """Return patterns of the fabric's files on a node; a file that matches and is not rendered is removed.

        Such files are those of a removed rail, of another network backend, or of counters that the intent no longer
        asks for.
        """
        # A single fabric also owns the files of several, in case the intent had several before.
        names = "*"
        netplan = "90-railweave*"
        counters = f"{COUNTER_PROGRAM}*"
        if self.part:
            # Names of fabrics are letters, so a number follows the name.
            names = f"{self.part}[0-9]*"
            netplan = f"90-railweave{self._suffix}"
            counters = f"{COUNTER_PROGRAM}{self._suffix}"
        return (
            f"/etc/systemd/network/10-railweave-{names}",
            f"/etc/netplan/{netplan}.yaml",
            f"{_CONNECTIONS}railweave-{names}.nmconnection",
            f"{_UNITS}/{counters}.timer",
            f"{_UNITS}/timers.target.wants/{counters}.timer",
            f"{_UNITS}/{counters}.service",
            f"{_PROGRAMS}/{counters}",
        )

    def installed(self, files: Mapping[str, bytes], backend: NetworkBackend) -> Iterator[InstalledFile]:
        """Yield the files of a node as they are installed; those of the other network backend are left out."""
        paths = self._path_by_name
        for name, content in files.items():
            if name in PROGRAMS:
                yield InstalledFile(paths[name], _PROGRAM_MODE, content)
            elif name in paths:
                yield InstalledFile(paths[name], _MODE, content)
            else:
                network_place = self._network_place(name, backend)
                if network_place is not None:
                    path, mode = network_place
                    yield InstalledFile(path, mode, content)

    def _network_place(self, name: str, backend: NetworkBackend) -> tuple[str, int] | None:
        """Return the path and the mode of a network file; None if ``backend`` does not read the file."""
        # udev names interfaces by .link files, whichever backend configures them.
        is_link_file = name.endswith(".link")
        is_of_networkd = name.startswith("networkd/") and backend is NetworkBackend.NETWORKD
        if is_link_file or is_of_networkd:
            return "/etc/systemd/network/" + name.removeprefix("networkd/"), _MODE
        if name == "netplan.yaml" and backend is NetworkBackend.NETPLAN:
            return f"/etc/netplan/90-railweave{self._suffix}.yaml", _PRIVATE_MODE
        if name.endswith(".nmconnection") and backend is NetworkBackend.NETWORKMANAGER:
            return _CONNECTIONS + name, _PRIVATE_MODE
        return None

    @property
    def _suffix(self) -> str:
        return f"-{self.part}" if self.part else ""

    @property
    def _path_by_name(self) -> Mapping[str, str]:
        """Return the paths of the files that every network backend installs, by their names in a node's folder."""
        # NCCL's files have one place: only the fabric in which the node's GPUs meet has them.
        return {
            "sysctl.conf": f"/etc/sysctl.d/90-railweave{self._suffix}.conf",
            "nccl.conf": "/etc/nccl.conf",
            "nccl.env": "/etc/railweave/nccl.env",
            DOCUMENT: self.document,
            UNIT: f"{_UNITS}/{self.unit}",
            RULES: f"/etc/udev/rules.d/90-railweave{self._suffix}.rules",
            PROGRAM: self.program,
            COUNTER_PROGRAM: self.counter_program,
            COUNTER_SERVICE: f"{_UNITS}/{COUNTER_PROGRAM}{self._suffix}.service",
            COUNTER_TIMER: f"{_UNITS}/{self.counter_timer}",
        }
