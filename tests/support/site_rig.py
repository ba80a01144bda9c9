"""A site of a simulated fabric: a clone of the project in a folder of its own, and workers that work from there."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from command_rig import RAILWEAVE

LEAVES = "lab-leaf*"
WORKER_S = 90
"""How long a worker may take to be there on a busy machine."""


class SiteRig:
    """A project whose leaves are worked on by the site ``west``, in a clone of its own."""

    def __init__(self, project: Any) -> None:
        self.project = project
        self.clone = project.folder.parent / "west"
        self.clone.mkdir()
        for name in ("intent", "inventory"):
            shutil.copytree(project.folder / name, self.clone / name)
        # The simulator is another place, which the site reaches as well.
        (self.clone / ".railweave").symlink_to(project.folder / ".railweave")

    def edit_target(self, **keys: Any) -> None:
        """Change keys of the target, here and at the site."""
        for folder in (self.project.folder, self.clone):
            file = folder / "inventory" / "sim.yml"
            document = yaml.safe_load(file.read_text(encoding="utf-8"))
            for key, value in keys.items():
                document[key] = {**document[key], **value} if isinstance(document.get(key), dict) else value
            file.write_text(yaml.safe_dump(document), encoding="utf-8")

    def pull(self) -> None:
        """Bring the site's clone to the state of the project."""
        shutil.copy(self.project.intent, self.clone / "intent" / self.project.intent.name)

    def command(self, first: str = "") -> list[str]:
        """Return what starts a worker of the site, as ssh would there; ``first`` is run before it."""
        start = f"exec {RAILWEAVE} worker --target sim --intent intent/{self.project.intent.name}"
        return ["sh", "-c", f"cd {self.clone} && {first or 'true'} && {start}"]

    def by_command(self, first: str = "") -> None:
        """Let the coordinator start the site's worker by a command."""
        self.edit_target(
            sites={"west": {"devices": [LEAVES], "command": self.command(first)}}, timeouts={"worker": WORKER_S}
        )

    def by_queue(self, url: str, worker_s: float = WORKER_S) -> None:
        """Let the site's workers take from a queue of the broker at ``url``."""
        self.project.environ["BROKER"] = url
        self.edit_target(
            sites={"west": {"devices": [LEAVES]}},
            broker={"secret": "BROKER"},
            secrets={"BROKER": {"env": "BROKER"}},
            timeouts={"worker": worker_s},
        )

    @contextmanager
    def queue_worker(self) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a worker of the site's queue."""
        said = self.clone / "worker.log"
        with said.open("wb") as log:
            process = subprocess.Popen(
                [RAILWEAVE, "worker", "--site", "west", "--intent", f"intent/{self.project.intent.name}"],
                cwd=self.clone,
                env={**os.environ, "BROKER": self.project.environ["BROKER"]},
                stdout=log,
                stderr=log,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait(30)
            assert "Traceback" not in said.read_text(encoding="utf-8"), said.read_text(encoding="utf-8")

    def slow_to_heal(self) -> None:
        """Change the sessions' timers, with leaves whose sessions do not come back: a worker waits for that under the
        switch's timer."""
        for name in ("lab-leaf1", "lab-leaf2"):
            self.project.run("sim", "fault", name, "bgp-down")
        self.project.set_rollout(verify_timeout=18, revert_in=50)
        shutil.copy(self.project.folder / "inventory" / "sim.yml", self.clone / "inventory" / "sim.yml")
        self.project.intent.write_text(self.project.intent.read_text() + "bgp: {keepalive: 2, hold: 8}\n")
        self.pull()

    def lines(self, device: str) -> set[str]:
        """Return what FRR of a switch runs."""
        return set(self.project.running(device)["bgpraw"].splitlines())


@dataclass(frozen=True)
class Broker:
    """A Redis server of a test: its URL, with a password, and its process."""

    url: str
    process: "subprocess.Popen[bytes]"


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def redis_broker(folder: Path) -> Iterator[Broker]:
    """Run a Redis server on a loopback port, which ends with the block."""
    port, password = free_port(), "a-password-of-the-test"
    listen = ("--port", str(port), "--bind", "127.0.0.1", "--requirepass", password)
    process = subprocess.Popen(["redis-server", *listen, "--save", "", "--dir", folder], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < deadline, "redis-server does not listen"
                time.sleep(0.05)
        yield Broker(f"redis://:{password}@127.0.0.1:{port}/0", process)
    finally:
        process.kill()
        process.wait(30)
