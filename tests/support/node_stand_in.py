"""A GPU node in this process: files below a folder, the kernel's part of `ip`, and the vendors' tools as recorders.

Every action that changes a setting is counted; the one of number ``fails_at`` is refused by its tool from then on, and
before that of ``power_fails_at`` the node loses power.
"""

import contextlib
import io
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from sonic_sim.nodes.kernel_files import PROGRAMS, kernel_files
from sonic_sim.spec import SimNic

TOOLS = PROGRAMS / "nic_tools.py"
PCI = "0000:0a:00.0"


class PowerLostError(BaseException):
    """The node went off."""


@cache
def load(path: Path, name: str) -> Any:
    """Return the program at ``path`` as the module ``name``."""
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return module


class Kernel:
    """Links, addresses, routes and rules as `ip` shows and changes them."""

    def __init__(self) -> None:
        self.links: dict[str, dict[str, Any]] = {"rail0": {"mtu": 1500, "flags": [], "addresses": ["192.0.2.9/24"]}}
        self.routes: list[dict[str, Any]] = [
            {"dst": "198.51.100.0/24", "gateway": "192.0.2.1", "dev": "rail0", "table": "100"}
        ]
        self.rules = [{"priority": 0, "src": "all", "table": "255"}, {"priority": 7, "src": "all", "table": "100"}]

    def ask(self, words: list[str]) -> Any:
        if words == ["address", "show"]:
            return [
                {
                    "ifname": name,
                    "mtu": one["mtu"],
                    "flags": one["flags"],
                    "addr_info": list(map(_address, one["addresses"])),
                }
                for name, one in self.links.items()
            ]
        return {"route": self.routes, "rule": self.rules}[words[0]]

    def change(self, words: list[str]) -> None:
        what, verb, *rest = words
        if what == "link":
            link = self.links[rest[1]]
            if rest[2] == "mtu":
                link["mtu"] = int(rest[3])
            else:
                link["flags"] = ["UP"] if rest[2] == "up" else []
        elif what == "address":
            addresses = self.links[rest[2]]["addresses"]
            addresses.append(rest[0]) if verb == "add" else addresses.remove(rest[0])
        elif what == "route":
            given = {"dst": rest[0], **dict(zip(rest[1::2], rest[2::2], strict=True))}
            key = (given["dst"], given["table"], int(given.get("metric", 0)))
            kept = [one for one in self.routes if _key(one) != key]
            assert verb == "replace" or len(kept) < len(self.routes), words
            if verb == "replace":
                new = {"dst": key[0], "gateway": given["via"], "dev": given["dev"], "table": key[1]}
                kept.append(new | ({"metric": key[2]} if key[2] else {}))
            self.routes = kept
        else:
            given = dict(zip(rest[::2], rest[1::2], strict=True))
            rule = {"priority": int(given["priority"]), "src": given["from"], "table": given["table"]}
            self.rules.append(rule) if verb == "add" else self.rules.remove(rule)


def _address(text: str) -> dict[str, Any]:
    local, _, length = text.partition("/")
    return {"family": "inet", "local": local, "prefixlen": int(length)}


def _key(route: dict[str, Any]) -> tuple[str, str, int]:
    return route["dst"], route["table"], route.get("metric", 0)


class StandInNode:
    """The node, and runs of its programs on it."""

    def __init__(self, root: Path, rdma: str, host: Any, change: Any) -> None:
        self.root, self.kernel, self.host, self.programs = root, Kernel(), host, change
        self.tools: Any = load(TOOLS, "nic_tools")
        self.tools.NEW_CARD["schedule"] = {"0": ["DWRR", "100", "N/A"]}
        self.tools.HOME = self.tools.HELD = root
        self.tools.STATE = root / "state.json"
        self.fails_at = self.power_fails_at = self.changes = 0
        self.missing = ""
        # What systemd was told, where a test says that it runs.
        self.systemctl: list[str] = []
        self._refused: Any = None
        self._rdma = rdma
        self._make_kernel_files(rdma)

    def _make_kernel_files(self, rdma: str) -> None:
        net = self.root / "sys/class/net/rail0"
        files: dict[str, str] = {"etc/nccl.conf": "NCCL_DEBUG=WARN\n"}
        for vendor in ("nvidia", "broadcom", "intel"):
            files |= kernel_files(SimNic("rail0", "", rdma, PCI, vendor))
        files |= {f"proc/sys/net/ipv4/conf/all/{key}": "0" for key in ("arp_ignore", "arp_announce")}
        files |= {f"proc/sys/net/ipv4/conf/rail0/{key}": "1" for key in ("rp_filter", "accept_local")}
        for path, text in files.items():
            name = path.lstrip("/")
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        (net / "device").symlink_to(f"../../../devices/{PCI}")

    def run(self, verb: str, bundle: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        """Run a verb of the program and return its answer."""
        path = self.root / "bundle.json"
        path.write_text(json.dumps(bundle))
        words = [verb, "--bundle", str(path), "--root", str(self.root), *(["--check"] if dry_run else [])]
        real, said = self.host.Machine, io.StringIO()
        self.host.Machine = lambda root: self._machine(real(root))
        try:
            with contextlib.redirect_stdout(said):
                assert self.programs.main(words) == 0
        finally:
            self.host.Machine = real
        answer: dict[str, Any] = json.loads(said.getvalue())
        return answer

    def _machine(self, machine: Any) -> Any:
        act, node = machine.act, self
        machine._place = lambda path: machine.root + path

        def run(command: list[str]) -> str:
            return node._tool(list(command))

        def counted(action: Any) -> None:
            node._count(action)
            act(action)

        machine.run, machine.act = run, counted
        return machine

    def _count(self, action: Any) -> None:
        self.changes += 1
        if self.changes == self.power_fails_at:
            raise PowerLostError
        if self.changes == self.fails_at:
            self._refused = action
        if action == self._refused:
            raise self.host.FaultError("out of order")

    def _tool(self, command: list[str]) -> str:
        if command[0] == self.missing:
            raise self.host.FaultError(f"{command[0]} is not installed")
        if command[0] == "ip":
            if command[1] == "-j":
                return json.dumps(self.kernel.ask([word for word in command[1:] if not word.startswith("-")]))
            self.kernel.change(command[1:])
            return ""
        if command[0] == sys.executable:
            return self._python(command)
        if command[0] == "systemctl":
            self.systemctl.append(" ".join(command[1:]))
            return ""
        said, old = io.StringIO(), sys.argv
        sys.argv = list(command)
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                self.tools.main()
        except SystemExit:
            raise self.host.FaultError(said.getvalue().strip()) from None
        finally:
            sys.argv = old
        return said.getvalue()

    def _python(self, command: list[str]) -> str:
        """Run a program of the node."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise self.host.FaultError(done.stderr.strip())
        return done.stdout

    def state(self) -> dict[str, Any]:
        """Return everything that the node is: kernel, NICs and files, numbers by their meaning."""
        files = {
            str(path.relative_to(self.root)): _meant(path.read_text())
            for top in ("etc", "usr", "sys", "proc")
            for path in (self.root / top).rglob("*")
            if path.is_file() and not path.is_symlink() and path.name != "apply"
        }
        links = {
            str(p.relative_to(self.root)): str(p.readlink()) for p in (self.root / "etc").rglob("*") if p.is_symlink()
        }
        nics = json.loads((self.root / "state.json").read_text()) if (self.root / "state.json").exists() else {}
        kernel = [self.kernel.links, sorted(self.kernel.routes, key=str), sorted(self.kernel.rules, key=str)]
        settings = {name: self._in_force(name, one) for name, one in nics.items()}
        in_force = {name: one for name, one in settings.items() if one != self._in_force(name, {})}
        return {"files": files, "links": links, "nics": in_force, "kernel": json.loads(json.dumps(kernel))}

    def _in_force(self, name: str, held: dict[str, Any]) -> dict[str, Any]:
        """Return what counts of a NIC: no map of code points where it trusts the VLAN's priority, and none of what the
        vendor's tool cannot undo."""
        devlink = {"enable_iwarp": "true", "enable_roce": "false"}
        news = {
            "devlink": devlink,
            "rail0": self.tools.NEW_PORT,
            "card": self.tools.NEW_CARD,
            "rdma": {"mode": "1", "tos": "0"},
        }
        found = {**news.get(name.partition(" ")[0], {"cnp": "0"}), **held}
        found.pop("status", None)
        if found.get("trust") == "pcp":
            del found["dscp"]
        return found


def _rows(numbers: list[int]) -> str:
    return "".join(f"{at}\t{number}\n" for at, number in enumerate(numbers))


def _buffers(sizes: list[int]) -> str:
    return f"Port buffer size = 524160\nSpare buffer size = {524160 - sum(sizes)}\nBuffer\tSize\n{_rows(sizes)}"


def _meant(text: str) -> str:
    try:
        return str(int(text.strip() or "0", 0))
    except ValueError:
        # A driver adds the end of the line to what was written.
        return text.rstrip("\n")
