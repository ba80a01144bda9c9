"""A switch in memory for the driver's tests: two stores, some files, SONiC's commands, and the switch's own program."""

import base64
import contextlib
import json
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonpatch
from virtual_switch import encoded

from railweave.sonic.frr import FrrDocument, apply_delta, parse_frr, render_frr
from railweave_switch import main
from railweave_switch.guard import Guard
from railweave_switch.host import Done, Hash, SwitchHost
from railweave_switch.main import PROGRAM
from railweave_switch.rows import decoded

FACTORY = {
    "DEVICE_METADATA": {
        "localhost": {
            "hostname": "leaf1",
            "hwsku": "Force10-S6000",
            "platform": "x86_64-kvm_x86_64-r0",
            "mac": "52:54:00:00:00:01",
            "docker_routing_config_mode": "split-unified",
            "type": "ToRRouter",
        }
    },
    "PORT": {
        "Ethernet0": {"admin_status": "up", "lanes": "25,26,27,28", "mtu": "9100", "speed": "40000"},
        "Ethernet4": {"admin_status": "up", "lanes": "29,30,31,32", "mtu": "9100", "speed": "40000"},
    },
    "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}},
    "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "48": "6"}},
    "SNMP_COMMUNITY": {"public": {"TYPE": "RO"}},
    "TACPLUS": {"global": {"passkey": "s3cret"}},
}
FACTORY_FRR = """frr version 10.3
frr defaults traditional
hostname leaf1
!
router bgp 65001
 bgp router-id 10.1.0.1
 neighbor 10.0.0.1 remote-as 65000
 !
 address-family ipv4 unicast
  network 10.1.0.1/32
 exit-address-family
exit
!
end
"""

Answer = tuple[int, str, str]


@dataclass
class SmallSwitch:
    """A switch in memory: two stores, some files, and the commands that change them.

    ``refuse`` answers commands that begin with a text; ``cut_after`` drops the connection when such a command has
    had its effect; ``ignore`` answers 0 and does nothing, as SONiC sometimes does.
    """

    tables: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(FACTORY)))
    frr: str = FACTORY_FRR
    files: dict[str, str] = field(default_factory=dict)
    refuse: dict[str, Answer] = field(default_factory=dict)
    ignore: set[str] = field(default_factory=set)
    cut_after: str = ""
    is_cut: bool = False
    commands: list[str] = field(default_factory=list)
    locked: bool = False
    holder: str = ""
    saved: bool = False
    on_command: Callable[[str], None] | None = None
    slept_s: float = 0.0

    def execute(self, command: str, stdin: str = "") -> Answer:
        """Run a command, and where it leaves with 0 the one that follows."""
        first, _, second = command.partition(" && ")
        status, out, err = self._execute(first, stdin)
        if not second or status:
            return status, out, err
        after = self._execute(second)
        return after[0], out + after[1], err + after[2]

    def _execute(self, command: str, stdin: str = "") -> Answer:
        command = command.removeprefix("sudo -n ")
        if self.cut_after and command.startswith(self.cut_after):
            self.cut_after, self.is_cut = "", True
        self.commands.append(command)
        if self.on_command is not None:
            self.on_command(command)
        for prefix, answer in self.refuse.items():
            if command.startswith(prefix):
                return answer
        if any(command.startswith(prefix) for prefix in self.ignore):
            return 0, "", ""
        if command.startswith("/usr/local/bin/railweave-switch ") and PROGRAM in self.files:
            status, told = main.run(SmallHost(self), shlex.split(command)[1:], stdin.encode)
            return status, told, ""
        if command.startswith("python3 -I -S -c "):
            return self._install(stdin, shlex.split(command)[5:])
        for prefix, run in self._verbs().items():
            if command.startswith(prefix):
                return run(command.removeprefix(prefix).strip())
        return 127, "", f"bash: {command.split()[0]}: command not found\n"

    def document(self) -> dict[str, Any]:
        """Return what runs."""
        return {**self.tables, "bgpraw": self.frr}

    def state(self) -> dict[str, Any]:
        """Return the state of the last commit."""
        state = self.files.get("/var/lib/railweave/transaction.json")
        return json.loads(state) if state else {}

    def _verbs(self) -> dict[str, Callable[[str], Answer]]:
        return {
            "show runningconfiguration all": lambda _: (0, json.dumps(self.document()), ""),
            "cat ": self._cat,
            "config apply-patch ": self._patch,
            "config load -y ": self._load,
            "config save -y": self._save,
            "vtysh -f ": self._vtysh_file,
            "vtysh -c 'write memory'": lambda _: (0, "", ""),
            "vtysh -c 'show running-config'": lambda _: (0, self.frr, "") if self.frr else (1, "", "no FRR\n"),
            "vtysh -c 'show running-config bgpd'": lambda _: (0, self.frr, ""),
            "vtysh -c 'show daemons'": lambda _: (0, " mgmtd zebra bgpd staticd\n", ""),
            "config reload -y -f ": self._reload,
            "echo ": lambda text: (0, text + "\n", ""),
            "sleep ": self._sleep,
            "false": lambda _: (1, "out\n", "it is false\n"),
            "noise ": lambda text: (0, "x" * int(text), "y" * int(text)),
        }

    def read(self, path: str) -> str | None:
        """Return a file of the switch."""
        return self.files.get(path)

    def _cat(self, path: str) -> Answer:
        text = self.read(path)
        return (1, "", f"cat: {path}: No such file or directory\n") if text is None else (0, text, "")

    def _install(self, sent: str, words: list[str]) -> Answer:
        status, told = main.run(SmallHost(self, base64.b64decode(sent)), words, lambda: b"")
        return status, told, ""

    def _patch(self, path: str) -> Answer:
        try:
            self.tables = jsonpatch.apply_patch(self.tables, self.read(path) or "")
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            return 2, "Patch Applier: localhost: Patch application starting.\n", f"Usage: config\n\nError: {error}\n"
        return 0, "Patch applied successfully.\n", ""

    def _load(self, path: str) -> Answer:
        self.load(json.loads(self.read(path) or "{}"))
        return 0, "Running command: /usr/local/bin/sonic-cfggen -j file --write-to-db\n", ""

    def load(self, document: dict[str, Any]) -> None:
        for table, rows in document.items():
            for key, row in rows.items():
                if row is None:
                    self.tables.get(table, {}).pop(key, None)
                else:
                    self.tables.setdefault(table, {}).setdefault(key, {}).update(row)
            if not self.tables.get(table):
                self.tables.pop(table, None)

    def _vtysh_file(self, path: str) -> Answer:
        text = self.files.get(path.replace("/etc/frr", "/etc/sonic/frr"))
        if text is None:
            return 1, "", f"Can't open configuration file {path}\n"
        self.apply_frr(text)
        return 0, "", ""

    def apply_frr(self, text: str) -> None:
        """Apply FRR lines; removing what is not there changes nothing."""
        after = apply_delta(text, parse_frr(self.frr))
        real = tuple(entry for entry in after.entries if not entry.line.startswith("no neighbor"))
        self.frr = render_frr(FrrDocument(real, after.system))

    def _save(self, path: str) -> Answer:
        self.saved = True
        self.files[path or "/etc/sonic/config_db.json"] = json.dumps(self.tables)
        return 0, "", ""

    def _sleep(self, seconds: str) -> Answer:
        time.sleep(float(seconds))
        return 0, "", ""

    def _reload(self, path: str) -> Answer:
        self.tables = json.loads(self.files[path])
        self.tables["VERSIONS"] = {"DATABASE": {"VERSION": "version_202505_01"}}
        self.frr = self.files.get("/etc/sonic/frr/frr.conf", "frr version 10.3\n")
        return 0, "Stopping SONiC target ...\n", ""


class SmallHost(SwitchHost):
    """The small switch as the host of its program; nothing here takes time."""

    def __init__(self, switch: SmallSwitch, program: bytes = b"") -> None:
        self.switch = switch
        self._program = program

    def now_s(self) -> float:
        return time.monotonic() + self.switch.slept_s

    def wall_s(self) -> float:
        return time.time()

    def boot_id(self) -> str:
        return "boot"

    def sleep(self, seconds: float) -> None:
        self.switch.slept_s += seconds

    def read_file(self, path: str) -> bytes:
        if path not in self.switch.files:
            raise FileNotFoundError(path)
        return self.switch.files[path].encode("utf-8", "surrogateescape")

    def write_file(self, path: str, data: bytes, mode: int | None = None) -> None:
        self.switch.files[path] = data.decode("utf-8", "surrogateescape")

    def remove_file(self, path: str) -> None:
        self.switch.files.pop(path, None)

    def rename_file(self, old: str, new: str) -> None:
        self.switch.files[new] = self.switch.files.pop(old)

    def list_directory(self) -> list[str]:
        start = f"{self.directory}/"
        return [path.removeprefix(start) for path in self.switch.files if path.startswith(start)]

    def make_directory(self) -> None:
        pass

    def rows(self, database: str, pattern: str = "*") -> dict[str, Hash]:
        tables = self.switch.tables if database == "CONFIG_DB" else {}  # no daemon writes here
        return {f"{table}|{key}": encoded(row) for table, rows in tables.items() for key, row in rows.items()}

    def write_rows(self, commands: Sequence[Sequence[str]]) -> None:
        for name, key, *words in commands:
            table, _, row = key.partition("|")
            if name == "DEL":
                self.switch.load({table: {row: None}})
            elif name == "HDEL":
                for one in words:
                    self.switch.tables.get(table, {}).get(row, {}).pop(one.removesuffix("@"), None)
            else:
                self.switch.load({table: {row: decoded(dict(zip(words[::2], words[1::2], strict=True)))}})

    def run(self, words: Sequence[str], timeout_s: float, stdin: str = "") -> Done:
        return Done(*self.switch.execute(shlex.join(words)))

    @contextlib.contextmanager
    def lock(self, wait_s: float) -> Iterator[None]:
        yield

    def session_holder(self) -> str:
        return self.switch.holder if self.switch.locked else ""

    def me(self) -> dict[str, str]:
        return {"process": "worker"}

    def alive(self, process: Any) -> bool:
        return bool(process)

    def end(self, process: Any) -> None:
        raise AssertionError("nothing here is ever stuck")

    def start_guard(self, name: str) -> None:
        Guard(self, name).announce()

    def work(self, request: Any) -> dict[str, Any]:
        return main.work(self, request)

    def program(self) -> bytes:
        return self._program or self.read_file(PROGRAM)
