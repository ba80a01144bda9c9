"""GPU nodes that run in the simulator of a project, as a person and `hosts` reach them."""

import json
import subprocess
from pathlib import Path
from typing import Any


class SimulatedNodes:
    """A project whose nodes run in the simulator."""

    def __init__(self, project: Any) -> None:
        self.project = project
        project.run("sim", "up")

    @property
    def folder(self) -> Path:
        (folder,) = (self.project.folder / ".railweave/sim").iterdir()
        return Path(folder)

    def endpoints(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "endpoints.json").read_text()))

    def ssh(self, name: str, command: str, status: int = 0, stdin: str = "") -> str:
        """Run a command on a node and return what it prints, both streams in one."""
        words = [*self.words("ssh", name, "-p"), command]
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def words(self, program: str, name: str, port: str) -> list[str]:
        """Return the command of OpenSSH's ``program`` that reaches a node, whose host key is checked."""
        endpoints = self.endpoints()
        place = endpoints["nodes"][name]
        options = (f"UserKnownHostsFile={endpoints['known_hosts']}", "StrictHostKeyChecking=yes", "LogLevel=ERROR")
        words = [program, *(word for option in options for word in ("-o", option)), "-i", endpoints["key_file"]]
        return [*words, port, str(place["port"]), f"root@{place['address']}"]

    def hosts(self, verb: str, *words: str, status: int = 0) -> Any:
        consent = () if verb == "plan" else ("--yes",)
        words = ("hosts", verb, "--target", "sim", *consent, *words, "--json")
        return json.loads(self.project.run(*words, status=status).stdout)
