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
        if not self.starting:
            return self._changes
        age = self.age_s()
        return self._changes + sum(age >= moment for moment in (*self.starting.values(), self.loads_s))

    def changed(self) -> None:
        """Note a change."""
        self._changes += 1

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
        daemons_of_root = {name for name in (*self.daemons, SHARED) if name not in self._own}
        parts = [part_of(self._root, self.build, daemons_of_root)]
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
        """Load the boot configuration once it is time: a daemon that does not listen by then misses it."""
        is_due = not self.starting or self.age_s() >= self.loads_s
        if self._boot_text is None or not is_due:
            return
        text = self._boot_text
        self._boot_text = None
        listening = [name for name in self.daemons if self.starting.get(name, 0.0) <= self.loads_s]
        self._feed(text, listening)

    def _feed(self, text: str, up: Sequence[str]) -> tuple[list[_Refused], str]:
        """Apply lines in the daemons ``up``; return the lines that were refused, and bgpd's messages."""
        # A daemon that is down misses the lines, so from now on its configuration is one of its own.
        for name in self.daemons:
            if name not in up and name not in self._own:
                self._own[name] = self._root.copy()
        refused: list[_Refused] = []
        messages = ""
        if any(name not in self._own for name in up):
            refused, messages = _apply(self._root, text)
        for name in up:
            if name in self._own:
                refused_by_daemon, messages_of_daemon = _apply(self._own[name], text)
                if name == "bgpd":
                    refused = refused_by_daemon
                    messages = messages_of_daemon
        if "bgpd" not in up:
            refused = [line for line in refused if not line.by_bgpd]
            messages = ""
        self._join(up)
        return refused, messages

    def _join(self, up: Sequence[str]) -> None:
        """Merge the own configuration of a daemon with that of the others once it has the same shared lines."""
        for name in up:
            tree = self._own.get(name)
            if tree is None:
                continue
            if part_of(tree, self.build, (SHARED,)) == part_of(self._root, self.build, (SHARED,)):
                other_names = {other for other in (*self.daemons, SHARED) if other != name}
                lines_of_others = part_of(self._root, self.build, other_names)
                self._root = merged((lines_of_others, part_of(tree, self.build, (name,))))
                del self._own[name]

    def start(
        self, text: str, hostname: str, *, starting: Mapping[str, float] | None = None, loads_s: float = 0.0
    ) -> None:
        """Start with a boot configuration; lines that FRR does not know are skipped, as ``vtysh -b`` does.

        ``starting`` says how many seconds after zebra each daemon listens, for those that take time. The text is loaded
        ``loads_s`` seconds after zebra listens.
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
        """Drop the configuration; the version grows by more than daemons that were starting add to it."""
        self._changes += 1 + len(self.starting)
        self.starting = {}
        self._boot_text = None
        self._root = Context(CONFIG)
        self._own = {}
        self._changes += 1

    def hasten(self, seconds: float) -> None:
        """Let daemons that are starting listen so many ``seconds`` earlier."""
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
        """Apply configuration lines, going on after a refused one as ``vtysh -f`` does.

        If ``dry``, the lines are only checked.
        """
        if dry:
            # A file is only checked by vtysh itself (vtysh/vtysh_config.c).
            return self._report(*_apply(self.root.copy(), text))
        refused, messages = self._apply_in_daemons(text)
        # From 9.0 on vtysh starts a process for each daemon, which reads the file and sends it to this one alone.
        if self.build.since(9, 0):
            applied = self._report_of_processes(refused, messages)
        else:
            applied = self._report(refused, messages)
        self.changed()
        name = self.root.lines.get("hostname")
        if name:
            self.hostname = name.split()[1]
        return applied

    def _apply_in_daemons(self, text: str) -> tuple[list[_Refused], str]:
        """Apply lines in all daemons that are up; return the lines that were refused, and the daemons' messages."""
        self._load()
        all_up = not self.starting or len(self.up()) == len(self.daemons)
        if all_up and not self._own:
            return _apply(self._root, text)
        return self._feed(text, self.up())

    def _report(self, refused: list[_Refused], messages: str) -> Applied:
        """Return the result of one process that reads the file for all daemons."""
        errors = "".join(line.text for line in refused)
        if not refused:
            return Applied(0, messages, errors)
        status = refused[-1].refusal.status
        if self.build.since(9, 0):
            errors += f"{_failure(status)}\n"
        return Applied(status, messages, errors)

    def _report_of_processes(self, refused: list[_Refused], messages: str) -> Applied:
        """Return the result of the processes of all daemons; what bgpd refuses fails in its process alone."""
        out = ""
        err = ""
        first_status = 0
        for name in self.up():
            refused_here = [line for line in refused if name == "bgpd" or not line.by_bgpd]
            status = refused_here[-1].refusal.status if refused_here else 0
            process = f"[{_FIRST_PROCESS + _PLACES[name]}|{name}]"
            out += f"{process} sending configuration\n"
            if name == "bgpd":
                out += messages
            err += "".join(line.text for line in refused_here)
            err += f"{process} {_failure(status) if status else 'done'}\n"
            first_status = first_status or status
        return Applied(first_status, f"{out}Waiting for children to finish applying config...\n", err)

    def show(self, daemon: str = "") -> str:
        """Return the text of ``show running-config``; with a ``daemon`` only of what that one keeps."""
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
    """Apply lines to a tree, which is changed; return the lines that were refused, and the daemons' messages."""
    editor = Editor(root)
    refused: list[_Refused] = []
    messages = ""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            editor.line(line)
        except RefusedLineError as refusal:
            refused.append(_Refused(refusal, refusal.of_file(number, line)))
            if refusal.daemon_text:
                messages += f"{refusal.daemon_text}\n"
        messages += "".join(f"{note}\n" for note in editor.notes)
        editor.notes.clear()
    return refused, messages
