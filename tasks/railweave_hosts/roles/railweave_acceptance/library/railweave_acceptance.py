#!/usr/bin/python
"""Ansible module: the acceptance tests of a GPU node, a block of rounds at a time.

``part: prepare`` ends what an earlier run left, reads the node's settings and tools, and makes room. ``part: start``
leaves a supervisor behind that carries out one block by the node's clock: it reads the NICs' counters between rounds,
starts each test's words as a process group, and ends whatever still runs at the end of the round. The supervisor ends
with its block, whether or not a controller comes back. ``part: fetch`` returns what it stored; ``part: stop`` ends it
as well. All parts return the stored ones of the controller's ``blocks`` that it has not yet (``has``), and drop others.

A module of the kind "JSON args", as ``railweave_node``. Standard library only; Python 3.9 and later.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import errno
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from typing import Any, NoReturn

# Three quotes never follow one another in a JSON document.
ARGUMENTS = r"""<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"""
PARTS = ("prepare", "start", "fetch", "stop")
FOLDER = "/var/lib/railweave-acceptance"
# The environment variable by which every process of a test is found, also one that left its group.
MARK = "RAILWEAVE_ACCEPTANCE"
# Kept free while tests run, so that a full disk can still be reported.
RESERVE_BYTES = 512 * 1024
LARGEST_OUTPUT = 4 * 1024 * 1024
PROGRAM_TIMEOUT_S = 60
VERSION_TIMEOUT_S = 5
# A supervisor that hangs is ended by its guard so long after the block.
LEASE_MARGIN_S = 15
_PR_SET_PDEATHSIG = 1
_TICK_S = 0.02


class PartError(Exception):
    """The part failed; the message is for a person."""


def main() -> NoReturn:
    """Do one part and print its result as Ansible expects it from a module."""
    arguments = json.loads(ARGUMENTS)
    result: dict[str, Any] = {"changed": False, "invocation": {"module_args": {"part": arguments["part"]}}}
    exit_code = 0
    try:
        request = json.loads(base64.b64decode(arguments["bundle"]))
        node = Node((arguments.get("root") or "").rstrip("/"), request)
        answer = node.do(arguments["part"])
        packed = base64.b64encode(zlib.compress(json.dumps(answer).encode())).decode()
        # The clock is read last: the answer arrives a moment after it.
        result["facts"] = {"packed": packed, "clock": time.time()}
    except PartError as error:
        result.update(failed=True, msg=str(error))
        exit_code = 1
    except OSError as error:
        result.update(failed=True, msg=disk_text(error))
        exit_code = 1
    print(json.dumps(result))
    sys.exit(exit_code)


def disk_text(error: OSError) -> str:
    """Return an error of the file system in words."""
    text = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        text = "the disk is full"
    if error.filename:
        return f"{error.filename}: {text}"
    return text


class Node:
    """The machine, with the folder of its results; ``root`` is put before its paths."""

    def __init__(self, root: str, request: dict[str, Any]) -> None:
        self.root = root
        self.request = request
        self.folder = root + FOLDER

    def do(self, part: str) -> dict[str, Any]:
        """Do a part and return its answer, with the stored blocks. Raises PartError, OSError."""
        if part not in PARTS:
            raise PartError(f"part is {part!r}, and must be one of {', '.join(PARTS)}")
        answer: dict[str, Any] = {}
        if part in ("prepare", "stop"):
            self.end_supervisor()
        answer.update(self.stored())
        if part == "prepare":
            answer.update(self.prepared())
        elif part == "start":
            self.start()
        elif part == "stop":
            self.remove(f"{self.folder}/reserve")
            with contextlib.suppress(OSError):
                # It stays while it holds results that nobody has fetched.
                os.rmdir(self.folder)
        return answer

    # What an earlier run left

    def stored(self) -> dict[str, Any]:
        """Return the stored blocks by name, whether a supervisor runs, and the boot.

        Blocks of another plan, and those that the controller has or does not know, are dropped.
        """
        blocks: dict[str, list[Any]] = {}
        # The files are PLAN.BLOCK.jsonl.
        for path in sorted(glob.glob(f"{glob.escape(self.folder)}/*.jsonl")):
            plan, _, block = os.path.basename(path)[: -len(".jsonl")].partition(".")
            is_unknown = plan != self.request["plan"] or block not in self.request["blocks"]
            is_fetched = block in self.request["has"]
            if is_unknown or is_fetched:
                self.remove(path)
                continue
            blocks[block] = list(lines_of(path))
        return {"blocks": blocks, "runs": self.supervisor() != [], "boot": boot_id()}

    def supervisor(self) -> list[int]:
        """Return the ids of the supervisor's processes that still run; empty if it has ended or never ran."""
        try:
            with open(f"{self.folder}/supervisor.json", encoding="utf-8") as file:
                processes = json.load(file)
            return [pid for pid, started in processes if started_at(pid) == started]
        except (OSError, ValueError, TypeError):
            return []

    def end_supervisor(self) -> None:
        """End the supervisor and every process of a test."""
        for pid in self.supervisor():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        end_marked(self.folder)
        self.remove(f"{self.folder}/supervisor.json")

    @staticmethod
    def remove(path: str) -> None:
        """Remove a file if it exists."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(path)

    # Preparation

    def prepared(self) -> dict[str, Any]:
        """Make room; return the node's settings, the versions of its tools, and how long it takes to read counters.

        Raises PartError if the settings cannot be read, OSError if there is no room.
        """
        self.make_room()
        before = time.monotonic()
        self.counters()
        return {
            "reading_s": time.monotonic() - before,
            "versions": {program: self.version(program) for program in self.request["programs"]},
            "launchers": [name for name in ("mpirun", "srun") if shutil.which(name)],
            "facts": self.facts(),
            "nics": {name: self.nic_state(name) for name in self.request["nics"]},
            "iommu": self.iommu(),
        }

    def make_room(self) -> None:
        """Take the space in which a full disk is reported. Raises OSError."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        with open(f"{self.folder}/reserve", "wb") as file:
            file.write(b"\0" * RESERVE_BYTES)
            file.flush()
            os.fsync(file.fileno())

    @staticmethod
    def version(program: str) -> str | None:
        """Return the name and version of a program; empty if it tells no version, None if it is not installed."""
        if shutil.which(program) is None:
            return None
        for line in printed([program, "--version"], VERSION_TIMEOUT_S).splitlines():
            if any(character.isdigit() for character in line) and "." in line:
                return f"{program} {line.strip()}"[:120]
        return ""

    def facts(self) -> Any:
        """Return the node's settings as railweave's own program reads them; None if the request has no program.

        Raises PartError if it prints no JSON.
        """
        programs = self.request.get("facts") or {}
        if not programs:
            return None
        with tempfile.TemporaryDirectory(prefix="railweave-node-") as folder:
            texts = {**programs["programs"], "rails.json": json.dumps(programs["document"])}
            for name, text in texts.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            words = [sys.executable, f"{folder}/railweave_facts.py", "--document", f"{folder}/rails.json"]
            try:
                return json.loads(printed([*words, "--root", self.root], PROGRAM_TIMEOUT_S))
            except ValueError:
                raise PartError("the node's settings cannot be read: its program printed no JSON") from None

    def read(self, path: str) -> str:
        """Return a file of the node, empty if it cannot be read."""
        try:
            with open(self.root + path, encoding="utf-8", errors="replace") as file:
                return file.read().strip()
        except OSError:
            return ""

    def rdma_device(self, nic: str) -> str:
        """Return the RDMA device of an interface, empty if it has none."""
        for path in sorted(glob.glob(f"{self.root}/sys/class/net/{nic}/device/infiniband/*")):
            return os.path.basename(path)
        return ""

    def nic_state(self, nic: str) -> dict[str, Any]:
        """Return the slot, firmware and GIDs of a NIC, as the kernel has them."""
        base = f"/sys/class/net/{nic}/device"
        device = self.rdma_device(nic)
        state: dict[str, Any] = {"rdma": device, "firmware": self.read(f"/sys/class/infiniband/{device}/fw_ver")}
        for name in ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width"):
            state[name] = self.read(f"{base}/{name}")
        state["acs"] = self.acs(base)
        port = f"/sys/class/infiniband/{device}/ports/1"
        gids = {}
        for path in sorted(glob.glob(f"{self.root}{port}/gid_attrs/types/*")):
            index = os.path.basename(path)
            kind = self.read(f"{port}/gid_attrs/types/{index}")
            if kind:
                gids[index] = {"gid": self.read(f"{port}/gids/{index}"), "type": kind}
        state["gids"] = gids
        return state

    def acs(self, base: str) -> str:
        """Return whether a bridge above the NIC redirects peer-to-peer traffic: on, off, or empty if it is unknown."""
        path = os.path.realpath(self.root + base)
        state = ""
        while os.path.dirname(path) not in (path, "/"):
            path = os.path.dirname(path)
            try:
                with open(f"{path}/config", "rb") as file:
                    control = acs_control(file.read())
            except OSError:
                continue
            if control is None:
                continue
            # Request, completion and upstream redirect (PCIe base specification, 7.7.11.3).
            if control & 0b11100:
                return "on"
            state = "off"
        return state

    def iommu(self) -> str:
        """Return the types of the kernel's IOMMU groups (``identity`` is passthrough), empty without an IOMMU."""
        types = {self.read(path[len(self.root) :]) for path in glob.glob(f"{self.root}/sys/kernel/iommu_groups/*/type")}
        return ",".join(sorted(types - {""}))

    # Counters

    def counters(self) -> dict[str, Any]:
        """Return a reading of the NICs' counters."""
        at = time.time()
        return {"at": at, "boot": boot_id(), "nics": {nic: self.row(nic) for nic in self.request["nics"]}}

    def row(self, nic: str) -> dict[str, int]:
        """Return the counters of a NIC: of ethtool, and of its RDMA device."""
        row = {}
        for line in printed(["ethtool", "-S", nic], PROGRAM_TIMEOUT_S).splitlines():
            name, colon, value = line.strip().rpartition(":")
            if colon and value.strip().isdigit():
                row[name.strip()] = int(value)
        for folder in ("counters", "hw_counters"):
            pattern = f"{self.root}/sys/class/infiniband/{self.rdma_device(nic) or '-'}/ports/1/{folder}/*"
            for path in glob.glob(pattern):
                value = self.read(path[len(self.root) :])
                if value.isdigit():
                    row[os.path.basename(path)] = int(value)
        return row

    # A block

    def start(self) -> None:
        """Leave a supervisor of the block behind, and a guard that ends what a killed supervisor leaves.

        Raises PartError if another block still runs, if it is too late, or if the supervisor cannot be started.
        """
        if self.supervisor():
            raise PartError("tests of another block still run on it")
        rounds = self.request["work"]["rounds"]
        if rounds and time.time() > rounds[0]["serve"]:
            raise PartError("it was started after its first round began")
        self.make_room()
        read_end, write_end = os.pipe()
        if os.fork():
            os.close(write_end)
            # Wait until the ids are stored: Ansible's session ends after this.
            if not os.read(read_end, 1):
                raise PartError("its supervisor cannot be started: see the disk and the memory of the node")
            return
        # From here on this is the guard, in a session of its own.
        os.close(read_end)
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        worker = os.fork()
        if worker == 0:
            os.close(write_end)
            leave(lambda: Supervisor(self).run())
        processes = [[os.getpid(), started_at(os.getpid())], [worker, started_at(worker)]]
        try:
            with open(f"{self.folder}/supervisor.json", "w", encoding="utf-8") as file:
                json.dump(processes, file)
            os.write(write_end, b"1")
        except OSError:
            # Without its ids nobody could end it.
            os.kill(worker, signal.SIGKILL)
        os.close(write_end)
        leave(lambda: guard(self.folder, worker, lease_end(rounds[-1])))


def lease_end(last: dict[str, Any]) -> float:
    """Return when a supervisor must have ended, in Unix seconds: after the counters are read behind the last round."""
    reading_s = last["serve"] - last["read"]
    return float(last["end"] + reading_s + LEASE_MARGIN_S)


def leave(work: Any) -> NoReturn:
    """Do the work of a forked process and end it, never returning into Ansible's module."""
    try:
        work()
    finally:
        os._exit(0)


def guard(folder: str, worker: int, lease_ends: float) -> None:
    """Wait for a supervisor, until its lease ends; then end every process of its tests."""
    # By the steady clock: somebody may set the other one.
    deadline = time.monotonic() + lease_ends - time.time()
    while os.waitpid(worker, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)
            break
        time.sleep(0.2)
    end_marked(folder)
    for name in ("supervisor.json", "reserve"):
        with contextlib.suppress(OSError):
            os.unlink(f"{folder}/{name}")


class Supervisor:
    """Carries out the rounds of a block and stores a line of JSON for each result and reading."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.work = node.request["work"]
        # Times are kept by the steady clock, whatever happens to the other one meanwhile.
        self.offset = time.monotonic() - time.time()
        self.path = f"{node.folder}/{self.work['plan']}.{self.work['block']}.jsonl"
        self.full = False

    def run(self) -> None:
        """Carry out the block, or as much of it as the disk holds."""
        end = 0.0
        for number, planned in enumerate(self.work["rounds"]):
            self.wait_until(planned["read"])
            self.store({"reading": number, **self.node.counters()})
            for line in self.results(planned):
                self.store({**line, "round": planned["round"]})
            end = planned["end"]
            if self.full:
                return
        self.wait_until(end)
        self.store({"reading": len(self.work["rounds"]), **self.node.counters()})
        self.store({"ended": time.time()})

    def wait_until(self, moment: float) -> None:
        """Wait until a moment in Unix seconds."""
        left_s = moment + self.offset - time.monotonic()
        if left_s > 0:
            time.sleep(left_s)

    def store(self, line: dict[str, Any]) -> None:
        """Append a line to the results; if that fails, store the problem in the space that was kept free."""
        try:
            self.append(line)
        except OSError as error:
            self.full = True
            self.node.remove(f"{self.node.folder}/reserve")
            with contextlib.suppress(OSError):
                self.append({"problem": disk_text(error), "round": line.get("round", "")})

    def append(self, line: dict[str, Any]) -> None:
        """Append a line, whole or not at all."""
        data = json.dumps(line).encode() + b"\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            try:
                unwritten = data
                while unwritten:
                    unwritten = unwritten[os.write(descriptor, unwritten) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)

    def results(self, planned: dict[str, Any]) -> list[dict[str, Any]]:
        """Run the tests of a round and return a line for each."""
        # Servers are started before the clients that connect to them.
        waiting = sorted(planned["tests"], key=lambda test: not test["serves"])
        processes: list[Process] = []
        for test in waiting:
            start_at = planned["serve"] if test["serves"] else planned["send"]
            self.wait_until(start_at)
            late = time.monotonic() > planned["end"] + self.offset
            processes.append(Process(self.node, test, late=late))
        end_s = planned["end"] + self.offset
        running = processes
        while running and time.monotonic() < end_s:
            running = [process for process in running if process.runs()]
            time.sleep(_TICK_S)
        lines = [process.result(self.work["plan"]) for process in processes]
        # Also what a tool started and left behind.
        end_marked(self.node.folder)
        return lines


class Process:
    """A tool of a test, with its process group."""

    def __init__(self, node: Node, test: dict[str, Any], *, late: bool) -> None:
        self.node = node
        self.test = test["test"]
        self.why = ""
        self.words = test["words"]
        if shutil.which(self.words[0]) is None and test["instead"] and shutil.which(test["instead"][0]):
            self.words = test["instead"]
        self.started = time.time()
        self.ended = 0.0
        self.rc: int | None = None
        # In memory: a full disk must not cut an output short.
        self.files = [os.fdopen(os.memfd_create(f"railweave-{name}"), "w+b") for name in ("out", "err")]
        self.process: subprocess.Popen[bytes] | None = None
        if late:
            self.why = "the node was too slow to start it within its round"
            return
        environment = {**os.environ, MARK: node.folder}
        try:
            self.process = subprocess.Popen(
                self.words,
                stdin=subprocess.DEVNULL,
                stdout=self.files[0],
                stderr=self.files[1],
                start_new_session=True,
                env=environment,
                preexec_fn=die_with_parent,  # noqa: PLW1509  it has one thread
            )
        except FileNotFoundError:
            self.why = f"{self.words[0]} is not installed"
        except OSError as error:
            self.why = f"{self.words[0]} cannot be started: {error.strerror}"

    def runs(self) -> bool:
        """Tell whether it still runs."""
        if self.process is None or self.rc is not None:
            return False
        self.rc = self.process.poll()
        if self.rc is None:
            return True
        self.ended = time.time()
        return False

    def result(self, plan: str) -> dict[str, Any]:
        """End the tool if it still runs, and return the line of its result."""
        if self.runs() and self.process is not None:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.ended = time.time()
            self.rc = -signal.SIGKILL
            self.why = f"{self.words[0]} did not end within {self.ended - self.started:.0f} s, its bound"
        out, err = (tail(file) for file in self.files)
        meta = {"started": self.started, "ended": self.ended or self.started, "rc": self.rc, "argv": self.words}
        meta.update(host=socket.gethostname(), plan_sha256=plan)
        return {"test": self.test, "why": self.why, "meta": meta, "out": out, "err": err}


def tail(file: Any) -> str:
    """Return the output in a file, its beginning if it is too long, and close it."""
    file.seek(0)
    text: str = file.read(LARGEST_OUTPUT).decode("utf-8", "replace")
    file.close()
    return text


def die_with_parent() -> None:
    """Let the kernel end this process together with the supervisor (prctl(2))."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def end_marked(folder: str) -> None:
    """End every process that has the mark of this node in its environment."""
    mark = f"{MARK}={folder}".encode()
    for path in glob.glob("/proc/[0-9]*/environ"):
        pid = int(path.split("/")[2])
        with contextlib.suppress(OSError):
            with open(path, "rb") as file:
                marked = mark in file.read().split(b"\0")
            if marked:
                os.kill(pid, signal.SIGKILL)


def printed(words: list[str], timeout_s: float) -> str:
    """Return what a command prints, nothing if it is missing or does not end in time."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False, start_new_session=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout or done.stderr).decode("utf-8", "replace")


def lines_of(path: str) -> Any:
    """Yield the documents of a file; a line that a kill cut short is left out."""
    with open(path, "rb") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                yield json.loads(line)


def boot_id() -> str:
    """Return the kernel's id of this boot, with the start of the first process: a container has its own."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {started_at(1)}"
    except OSError:
        return ""


def started_at(pid: int) -> int:
    """Return when a process started, in ticks since the boot; 0 if it has ended (proc_pid_stat(5))."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    if fields[0] == "Z":
        return 0
    return int(fields[19])


def acs_control(config: bytes) -> int | None:
    """Return the control register of Access Control Services in a PCIe configuration space; None without it."""
    # Extended capabilities are a list: a header has the id in its low bits, and the offset of the next one above.
    offset = 0x100
    while 0x100 <= offset < len(config) - 8:
        header = int.from_bytes(config[offset : offset + 4], "little")
        if header & 0xFFFF == 0x000D:
            return int.from_bytes(config[offset + 6 : offset + 8], "little")
        offset = header >> 20
    return None


if __name__ == "__main__":
    main()
