"""The routing daemons of one switch: running or not, and the configuration that they hold."""

from dataclasses import dataclass, field

from sonic_sim.frr.edit import Editor, RefusedLineError
from sonic_sim.frr.grammar import CONFIG
from sonic_sim.frr.show import configuration_text, running_config
from sonic_sim.frr.tree import Context


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of applying lines: the exit status of the last error, and the texts."""

    status: int
    out: str
    err: str


@dataclass(slots=True)
class Frr:
    """FRR in the bgp container. ``version`` grows with every change."""

    running: bool = False
    hostname: str = "sonic"
    root: Context = field(default_factory=lambda: Context(CONFIG))
    version: int = 0

    def start(self, text: str, hostname: str) -> None:
        """Start with a boot configuration; lines that FRR does not know are skipped, as vtysh -b does."""
        self.running = True
        self.hostname = hostname
        self.root = Context(CONFIG)
        self.apply(text)

    def stop(self) -> None:
        """Stop the daemons: what they held is gone."""
        self.running = False
        self.root = Context(CONFIG)
        self.version += 1

    def rename(self, hostname: str) -> None:
        """Take the host's new name."""
        self.hostname = hostname
        self.version += 1

    def apply(self, text: str, *, dry: bool = False) -> Applied:
        """Apply configuration lines, going on after a refused one as ``vtysh -f`` does."""
        editor = Editor(self.root.copy() if dry else self.root)
        status, out, err = 0, "", ""
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                editor.line(line)
            except RefusedLineError as refusal:
                status = refusal.status
                out += f"{refusal.daemon_text}\n" if refusal.daemon_text else ""
                err += f"line {number}: {refusal.text}\n\n"
        if not dry:
            self.version += 1
            name = self.root.lines.get("hostname")
            self.hostname = name.split()[1] if name else self.hostname
        return Applied(status, out, err)

    def show(self) -> str:
        """Return the text of ``show running-config``."""
        return running_config(self.root, self.hostname)

    def text(self) -> str:
        """Return the configuration as ``write memory`` puts it into the file."""
        return configuration_text(self.root, self.hostname)
