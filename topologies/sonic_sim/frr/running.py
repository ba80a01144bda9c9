"""The routing daemons of one switch: running or not, and the configuration that they hold."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sonic_sim.frr.daemons import SHARED, merged, part_of
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
# Where each daemon is in vtysh's list of clients (vtysh/vtysh.c).
_PLACES = {"mgmtd": 0, "zebra": 1, "bgpd": 7, "staticd": 17}
# Process ids differ in each run; the recordings compare them by a pattern.
_FIRST_PROCESS = 101
FRR_CONF = "/etc/frr/frr.conf"


@dataclass(frozen=True, slots=True)
class _Refused:
    """A line of a file that was refused, and vtysh's message."""

    refusal: RefusedLineError
    text: str

    @property
    def by_bgpd(self) -> bool:
        """Whether bgpd refuses it; all other refusals are vtysh's own."""
        return self.refusal.status == CMD_WARNING_CONFIG_FAILED


@dataclass(slots=True)
class Frr:
    """FRR in the bgp container.

    Its daemons start one after the other. One that comes after the boot configuration was loaded misses it, and has a
    configuration of its own until it has what the others have.
    """

    build: Build = SONIC_202505
    # The daemons that the image has.
    daemons: tuple[str, ...] = DAEMONS
    running: bool = False
    hostname: str = "sonic"
    # Returns the VRFs of the kernel.
    vrfs: Callable[[], Iterable[str]] = tuple
    # Returns the daemons that run beside ``daemons``.
    beside: Callable[[], Iterable[str]] = tuple
    # Returns for how many seconds zebra has been listening.
    age_s: Callable[[], float] = float
    # How many seconds after zebra each of the other daemons listens, for those that take time.
    starting: dict[str, float] = field(default_factory=dict)
    # How many seconds after zebra the boot configuration is loaded.
    loads_s: float = 0.0
    # When the sessions of neighbors were cleared (`clear bgp`), in seconds since 1970.
    cleared: dict[str, float] = field(default_factory=dict)
    # How many changes there were so far.
    _changes: int = 0
    # The configuration that all daemons share.
    _root: Context = field(default_factory=lambda: Context(CONFIG))
    # The configurations of daemons that missed something.
    _own: dict[str, Context] = field(default_factory=dict)
    # The boot configuration until somebody reads it, None afterwards.
    _boot_text: str | None = None

    @property
    def version(self) -> int:
        """A number that grows with every change, and whenever a daemon comes or the boot configuration is loaded."""
        return self._changes + (self._arrived() if self.starting else 0)

    def changed(self) -> None:
        """Note a change."""
        self._changes += 1

    def _arrived(self) -> int:
        age = self.age_s()
        return sum(age >= moment for moment in (*self.starting.values(), self.loads_s))

    def up(self) -> tuple[str, ...]:
        """Return the daemons that vtysh reaches."""
        if not self.starting:
            return self.daemons
        age = self.age_s()
        return tuple(name for name in self.daemons if age >= self.starting.get(name, 0.0))

    @property
    def root(self) -> Context:
        """The configuration that vtysh shows."""
        # A boot text is read when somebody first wants it: most switches are never asked.
        self._load()
        if not self._own:
            return self._root
        others = {name for name in (*self.daemons, SHARED) if name not in self._own}
        parts = [part_of(self._root, self.build, others)]
        up = self.up()
        for name, tree in self._own.items():
            if name in up:
                parts.append(part_of(tree, self.build, (name, SHARED)))
        return merged(parts)

    @property
    def of_bgpd(self) -> Context:
        """The configuration that bgpd has."""
        self._load()
        if "bgpd" not in self.up():
            return Context(CONFIG)
        return self._own.get("bgpd", self._root)

    def _load(self) -> None:
        """Load the boot configuration once it is time: who does not listen by then misses it."""
        if self._boot_text is None or (self.starting and self.age_s() < self.loads_s):
            return
        text = self._boot_text
        self._boot_text = None
        self._feed(text, [name for name in self.daemons if self.starting.get(name, 0.0) <= self.loads_s])

    def _feed(self, text: str, up: Sequence[str]) -> tuple[list[_Refused], str]:
        """Give lines to the daemons that are up; return the refused ones and the messages."""
        for name in self.daemons:
            if name not in up and name not in self._own:
                self._own[name] = self._root.copy()
        refused: list[_Refused] = []
        said = ""
        if any(name not in self._own for name in up):
            refused, said = _apply(self._root, text)
        for name in up:
            if name in self._own:
                own_refused, own_said = _apply(self._own[name], text)
                if name == "bgpd":
                    refused = own_refused
                    said = own_said
        if "bgpd" not in up:
            refused = [line for line in refused if not line.by_bgpd]
            said = ""
        self._join(up)
        return refused, said

    def _join(self, up: Sequence[str]) -> None:
        """Drop the own configurations of daemons that have caught up with the others."""
        for name in [name for name in up if name in self._own]:
            tree = self._own[name]
            if part_of(tree, self.build, (SHARED,)) == part_of(self._root, self.build, (SHARED,)):
                others = {other for other in (*self.daemons, SHARED) if other != name}
                self._root = merged((part_of(self._root, self.build, others), part_of(tree, self.build, (name,))))
                del self._own[name]

    def start(
        self, text: str, hostname: str, *, starting: Mapping[str, float] | None = None, loads_s: float = 0.0
    ) -> None:
        """Start with a boot configuration; lines that FRR does not know are skipped, as vtysh -b does.

        ``starting``: how long after zebra each daemon listens, for those that take time; ``loads_s``: how long after it
        the text is loaded.
        """
        self._forget()
        self.running = True
        self.cleared.clear()
        self.hostname = hostname
        self._boot_text = text
        self.starting = dict(starting or {})
        self.loads_s = loads_s
        for line in text.splitlines():
            if line.startswith("hostname "):
                self.hostname = line.split()[1]

    def stop(self) -> None:
        """Stop the daemons; their configuration is lost."""
        self._forget()
        self.running = False

    def _forget(self) -> None:
        self._changes += 1 + len(self.starting)
        self.starting = {}
        self._boot_text = None
        self._root = Context(CONFIG)
        self._own = {}
        self._changes += 1

    def hasten(self, seconds: float) -> None:
        """Let daemons that are starting listen so much earlier."""
        if not self.starting:
            return
        self._load()
        self.starting = {name: moment - seconds for name, moment in self.starting.items()}
        self.loads_s -= seconds
        if len(self.up()) == len(self.daemons):
            self.all_up()

    def all_up(self) -> None:
        """Let all daemons listen and load the boot configuration."""
        self._load()
        self._changes += 1 + len(self.starting)
        self.starting = {}

    def kept_text(self) -> str:
        """Return a text that `start` turns into this configuration."""
        # What was not loaded yet is kept as it was given.
        if self._boot_text is not None:
            return self._boot_text
        return self.text()

    def rename(self, hostname: str) -> None:
        """Take the host's new name."""
        self.hostname = hostname
        self.changed()

    def apply(self, text: str, *, dry: bool = False) -> Applied:
        """Apply configuration lines, going on after a refused one as ``vtysh -f`` does."""
        if dry:
            # A file is only checked by vtysh itself (vtysh/vtysh_config.c).
            return self._applied(*_apply(self.root.copy(), text))
        refused, notes = self._fed(text)
        # From 9.0 on vtysh starts a process for each daemon, which reads the file and sends it to this one alone.
        if self.build.since(9, 0):
            applied = self._by_processes(refused, notes)
        else:
            applied = self._applied(refused, notes)
        self.changed()
        name = self.root.lines.get("hostname")
        if name:
            self.hostname = name.split()[1]
        return applied

    def _fed(self, text: str) -> tuple[list[_Refused], str]:
        self._load()
        if not self._own and (not self.starting or len(self.up()) == len(self.daemons)):
            return _apply(self._root, text)
        return self._feed(text, self.up())

    def _applied(self, refused: list[_Refused], said: str) -> Applied:
        """Return the messages of one process that reads the file for all daemons."""
        complaints = "".join(line.text for line in refused)
        if not refused:
            return Applied(0, said, complaints)
        status = refused[-1].refusal.status
        if self.build.since(9, 0):
            complaints += f"{_failure(status)}\n"
        return Applied(status, said, complaints)

    def _by_processes(self, refused: list[_Refused], said: str) -> Applied:
        """Return the messages of the process of each daemon; a refused line fails in its daemon's process alone."""
        out = ""
        err = ""
        first = 0
        for name in self.up():
            own = [line for line in refused if name == "bgpd" or not line.by_bgpd]
            status = own[-1].refusal.status if own else 0
            process = f"[{_FIRST_PROCESS + _PLACES[name]}|{name}]"
            out += f"{process} sending configuration\n"
            if name == "bgpd":
                out += said
            err += "".join(line.text for line in own)
            err += f"{process} {_failure(status) if status else 'done'}\n"
            first = first or status
        return Applied(first, f"{out}Waiting for children to finish applying config...\n", err)

    def show(self, daemon: str = "") -> str:
        """Return the text of ``show running-config``, of one daemon where it is named."""
        heading = "Building configuration...\n\nCurrent configuration:\n!\n"
        if not daemon:
            return heading + self.text()
        if daemon not in self.up():
            return f"{heading}hostname {self.hostname}\n!\nend\n"
        part = part_of(self._own.get(daemon, self.root), self.build, (daemon, SHARED))
        return heading + configuration_text(part, self.hostname, self.build, ())

    def text(self) -> str:
        """Return the configuration as ``write memory`` puts it into the file."""
        return configuration_text(self.root, self.hostname, self.build, self.vrfs(), self.beside())


def _failure(status: int) -> str:
    return f"Configuration file[{FRR_CONF}] processing failure: {status}"


def _apply(root: Context, text: str) -> tuple[list[_Refused], str]:
    """Apply lines to a tree, in place; return the refused ones and the daemons' messages."""
    editor = Editor(root)
    refused: list[_Refused] = []
    said = ""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            editor.line(line)
        except RefusedLineError as refusal:
            refused.append(_Refused(refusal, refusal.of_file(number, line)))
            if refusal.daemon_text:
                said += f"{refusal.daemon_text}\n"
        said += "".join(f"{note}\n" for note in editor.notes)
        editor.notes.clear()
    return refused, said
