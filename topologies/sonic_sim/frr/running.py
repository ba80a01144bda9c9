"""The routing daemons of one switch: running or not, and the configuration that they hold."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sonic_sim.frr.edit import Editor
from sonic_sim.frr.grammar import CONFIG
from sonic_sim.frr.refusal import CMD_WARNING_CONFIG_FAILED, RefusedLineError
from sonic_sim.frr.show import SONIC_202505, Build, configuration_text
from sonic_sim.frr.tree import Context


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of applying lines: the exit status of the last error, and the texts."""

    status: int
    out: str
    err: str


DAEMONS = ("mgmtd", "zebra", "bgpd", "staticd")
_PLACES = {"mgmtd": 0, "zebra": 1, "bgpd": 7, "staticd": 17}
"""Where each daemon is in vtysh's list of clients (vtysh/vtysh.c)."""
_FIRST_PROCESS = 101
FRR_CONF = "/etc/frr/frr.conf"

_Refused = list[tuple[RefusedLineError, str]]
"""Refusals of a file's lines, and what vtysh says of each."""


@dataclass(slots=True)
class Frr:
    """FRR in the bgp container. ``version`` grows with every change; ``vrfs`` tells the VRFs that the kernel has."""

    build: Build = SONIC_202505
    daemons: tuple[str, ...] = DAEMONS
    running: bool = False
    hostname: str = "sonic"
    version: int = 0
    vrfs: Callable[[], Iterable[str]] = tuple
    _root: Context = field(default_factory=lambda: Context(CONFIG))
    _boot_text: str | None = None

    @property
    def root(self) -> Context:
        """The configuration. A boot text is read when somebody first wants it: most switches are never asked."""
        if self._boot_text is not None:
            text, self._boot_text = self._boot_text, None
            self._root = Context(CONFIG)
            _apply(self._root, text)
        return self._root

    def start(self, text: str, hostname: str) -> None:
        """Start with a boot configuration; lines that FRR does not know are skipped, as vtysh -b does."""
        self.running = True
        self.hostname = hostname
        self._boot_text = text
        self.version += 1
        for line in text.splitlines():
            if line.startswith("hostname "):
                self.hostname = line.split()[1]

    def stop(self) -> None:
        """Stop the daemons: what they held is gone."""
        self.running = False
        self._boot_text = None
        self._root = Context(CONFIG)
        self.version += 1

    def kept_text(self) -> str:
        """Return a text that `start` turns into this configuration."""
        return self._boot_text if self._boot_text is not None else self.text()

    def rename(self, hostname: str) -> None:
        """Take the host's new name."""
        self.hostname = hostname
        self.version += 1

    def apply(self, text: str, *, dry: bool = False) -> Applied:
        """Apply configuration lines, going on after a refused one as ``vtysh -f`` does.

        From 9.0 on vtysh starts a process for each daemon, which reads the file and sends it to this one alone; a file
        is only checked by vtysh itself (vtysh/vtysh_config.c).
        """
        refused, notes = _apply(self.root.copy() if dry else self.root, text)
        forks = not dry and self.build.since(9, 0)
        applied = self._by_processes(refused, notes) if forks else self._applied(refused, notes)
        if not dry:
            self.version += 1
            name = self.root.lines.get("hostname")
            self.hostname = name.split()[1] if name else self.hostname
        return applied

    def _applied(self, refused: _Refused, said: str) -> Applied:
        """Return what one process says that reads the file for all daemons."""
        status = refused[-1][0].status if refused else 0
        failure = f"{_failure(status)}\n" if status and self.build.since(9, 0) else ""
        return Applied(status, said, "".join(text for _, text in refused) + failure)

    def _by_processes(self, refused: _Refused, said: str) -> Applied:
        """Return what the process of each daemon says; a line that a daemon refuses fails in its process alone."""
        out, err, first = "", "", 0
        for name in self.daemons:
            own = [one for one in refused if name == "bgpd" or one[0].status != CMD_WARNING_CONFIG_FAILED]
            status = own[-1][0].status if own else 0
            process = f"[{_FIRST_PROCESS + _PLACES[name]}|{name}]"
            out += f"{process} sending configuration\n" + (said if name == "bgpd" else "")
            err += "".join(text for _, text in own) + f"{process} {_failure(status) if status else 'done'}\n"
            first = first or status
        return Applied(first, f"{out}Waiting for children to finish applying config...\n", err)

    def show(self) -> str:
        """Return the text of ``show running-config``."""
        return "Building configuration...\n\nCurrent configuration:\n!\n" + self.text()

    def text(self) -> str:
        """Return the configuration as ``write memory`` puts it into the file."""
        return configuration_text(self.root, self.hostname, self.build, self.vrfs())


def _failure(status: int) -> str:
    return f"Configuration file[{FRR_CONF}] processing failure: {status}"


def _apply(root: Context, text: str) -> tuple[_Refused, str]:
    """Apply lines to a tree, in place; return the refused ones and what the daemons say."""
    editor = Editor(root)
    refused: _Refused = []
    said = ""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            editor.line(line)
        except RefusedLineError as refusal:
            refused.append((refusal, refusal.of_file(number, line)))
            said += f"{refusal.daemon_text}\n" if refusal.daemon_text else ""
        said += "".join(f"{note}\n" for note in editor.notes)
        editor.notes.clear()
    return refused, said
