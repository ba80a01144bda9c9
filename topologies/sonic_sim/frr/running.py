"""The routing daemons of one switch: running or not, and the configuration that they hold."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sonic_sim.frr.edit import Editor
from sonic_sim.frr.grammar import CONFIG
from sonic_sim.frr.refusal import RefusedLineError
from sonic_sim.frr.show import configuration_text, running_config
from sonic_sim.frr.tree import Context


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of applying lines: the exit status of the last error, and the texts."""

    status: int
    out: str
    err: str


@dataclass(slots=True)
class Frr:
    """FRR in the bgp container. ``version`` grows with every change; ``vrfs`` tells the VRFs that the kernel has."""

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
        """Apply configuration lines, going on after a refused one as ``vtysh -f`` does."""
        applied = _apply(self.root.copy() if dry else self.root, text)
        if not dry:
            self.version += 1
            name = self.root.lines.get("hostname")
            self.hostname = name.split()[1] if name else self.hostname
        return applied

    def show(self) -> str:
        """Return the text of ``show running-config``."""
        return running_config(self.root, self.hostname, self.vrfs())

    def text(self) -> str:
        """Return the configuration as ``write memory`` puts it into the file."""
        return configuration_text(self.root, self.hostname, self.vrfs())


def _apply(root: Context, text: str) -> Applied:
    """Apply lines to a tree, in place."""
    editor = Editor(root)
    status, out, err = 0, "", ""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            editor.line(line)
        except RefusedLineError as refusal:
            status = refusal.status
            out += f"{refusal.daemon_text}\n" if refusal.daemon_text else ""
            err += refusal.of_file(number, line)
        out += "".join(f"{note}\n" for note in editor.notes)
        editor.notes.clear()
    return Applied(status, out, err)
