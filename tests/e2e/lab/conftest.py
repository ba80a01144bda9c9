"""The lab on Containerlab, started once for all its tests and taken down however they end.

The tests run one after the other on one running fabric: each begins and ends with the fabric as its intent says. They
run in the order of their files: bare nodes, faults, growth, the simulator beside the lab, unnumbered.
"""

import contextlib
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_rig import CommandRig

PROVEN: list[tuple[str, str]] = []


class LabRig(CommandRig):
    """A project, the lab of its intent, and the commands of engineers at the nodes."""

    command_seconds = 420

    @property
    def name(self) -> str:
        """The fabric's name, which is the lab's."""
        return re.search(r"^fabric: (\S+)", self.intent.read_text(), re.MULTILINE)[1]

    def plan(self, *words: str, status: int | None = 0) -> Any:
        return self.json("plan", "--target", "lab", *words, status=status)

    def deploy(self, *words: str, status: int | None = 0) -> Any:
        return self.json("deploy", "--target", "lab", "--yes", "--provision", *words, status=status)

    def verify(self, *words: str, status: int | None = 0) -> Any:
        return self.json("verify", "--target", "lab", *words, status=status)

    def as_intended(self) -> None:
        """The fabric is what the intent says, whatever the test before did."""
        assert self.verify("--wait", "60")["ok"] is True
        assert self.plan()["changes"] == []

    def on(self, node: str, command: str, status: int | None = 0) -> str:
        """Run a shell line as root inside a node and return what it prints."""
        done = subprocess.run(
            ["docker", "exec", f"clab-{self.name}-{node}", "sh", "-c", command],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert status is None or done.returncode == status, f"{node}: {command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def driver(self, switch: str) -> Any:
        """Return the NAPALM driver on a switch, logging in as the lab's inventory does."""
        from napalm import get_network_driver

        told = json.loads((self.folder / ".railweave" / "lab" / self.name / "endpoints.json").read_text())
        there = told["devices"][switch]
        keys = {"use_keys": True, "key_file": told["key_file"], "allow_agent": False}
        hosts = {"ssh_strict": True, "alt_host_keys": True, "alt_key_file": told["known_hosts"]}
        options = {"port": there["port"], "system_host_keys": False, **keys, **hosts}
        return get_network_driver("sonic")(there["address"], told["username"], "", optional_args=options)

    def docker(self, *words: str) -> None:
        subprocess.run(["docker", *words], capture_output=True, timeout=60, check=True)

    def bgp(self, switch: str) -> dict[str, Any]:
        """Return FRR's own neighbours of a switch."""
        told = json.loads(self.on(switch, "vtysh -c 'show bgp ipv4 unicast summary json'"))
        return dict(told.get("peers", {}))

    def pings(self, source: str, line: str) -> bool:
        """Tell whether one ping is answered."""
        return "1 received" in self.on(source, f"ping -c1 -W2 {line}", status=None)

    def running(self, switch: str) -> Any:
        return json.loads(self.on(switch, "show runningconfiguration all"))

    def edit(self, *replacements: tuple[str, str]) -> None:
        text = self.intent.read_text(encoding="utf-8")
        for old, new in replacements:
            assert old in text, f"{old!r} is not in {self.intent.name}"
            text = text.replace(old, new)
        self.intent.write_text(text, encoding="utf-8")

    def set_rollout(self, **settings: float) -> None:
        target = self.folder / "inventory" / "lab.yml"
        text = re.sub(r"^rollout:\n(?:  .*\n)+", f"rollout: {json.dumps(settings)}\n", target.read_text(), flags=re.M)
        target.write_text(text)

    def rendered(self) -> Path:
        out = self.folder / "rendered"
        shutil.rmtree(out, ignore_errors=True)
        self.run("render", "--out", str(out))
        return out

    def fabric(self) -> Any:
        return json.loads((self.rendered() / "fabric.json").read_text(encoding="utf-8"))

    def wait_until(self, condition: Callable[[], Any], seconds: float, what: str) -> float:
        """Poll ``condition`` until it returns something true; return the seconds that it took."""
        begun = time.monotonic()
        while not condition():
            assert time.monotonic() - begun < seconds, f"not within {seconds} s: {what}"
            time.sleep(0.2)
        return time.monotonic() - begun


class PingStream:
    """Pings from one host to another, 20 packets a second, until it is asked how many were lost."""

    def __init__(self, rig: LabRig, source: str, line: str) -> None:
        self.process = subprocess.Popen(
            ["docker", "exec", f"clab-{rig.name}-{source}", "ping", "-i", "0.05", "-D", "-O", *line.split()],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.rig, self.source, self.line = rig, source, line

    def stop(self) -> tuple[int, int]:
        """End the stream; return packets sent and packets lost. A second time it only sees to it that it ended."""
        if self.process.returncode is not None:
            return 0, 0
        # the ping inside the container is another process than the one that asked for it
        self.rig.on(self.source, "pkill -INT -x -f '.*ping -i 0.05 -D -O " + self.line + "'", status=None)
        said, _ = self.process.communicate(timeout=20)
        found = re.search(r"(\d+) packets transmitted, (\d+) received", said)
        assert found, said[-500:]
        return int(found[1]), int(found[1]) - int(found[2])


@pytest.fixture
def streams() -> Iterator[Callable[..., list[PingStream]]]:
    """Return what starts pings from GPU nodes to addresses; all end with the test."""
    started: list[PingStream] = []

    def start(rig: LabRig, *lines: tuple[str, str]) -> list[PingStream]:
        new = [PingStream(rig, source, line) for source, line in lines]
        started.extend(new)
        return new

    yield start
    for stream in started:
        stream.stop()


@pytest.fixture(scope="session")
def start_lab(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Return what starts the lab of an intent for a ``with`` block: a file's name, or what writes one and names it."""

    @contextlib.contextmanager
    def start(intent: str | Callable[[Path], str]) -> Iterator[LabRig]:
        rig = LabRig(tmp_path_factory.mktemp("lab") / "project", intent)
        try:
            rig.run("lab", "up")
            yield rig
        finally:
            rig.run("lab", "down", "--all", status=None)

    return start


@pytest.fixture(scope="session")
def rig(start_lab: Any) -> Iterator[LabRig]:
    """Start the lab of lab-4.yml, bare, and take it down at the end of the run, however it ends."""
    with start_lab("lab-4.yml") as rig:
        yield rig


@pytest.fixture(scope="session")
def deployed(rig: LabRig) -> LabRig:
    """Return the lab with its intent deployed."""
    assert rig.deploy()["result"] in {"done", "unchanged"}
    return rig


@pytest.fixture
def proves(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Note what a test proved, for the table at the end of the run."""

    def note(what: str) -> None:
        PROVEN.append((request.node.name, what))
        print(f"proven: {what}")

    return note


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not PROVEN:
        return
    terminalreporter.section("what the lab proved")
    width = max(len(test) for test, _ in PROVEN)
    for test, what in PROVEN:
        terminalreporter.write_line(f"{test:<{width}}  {what}")
