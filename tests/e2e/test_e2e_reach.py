"""Switches behind a jump host, as a site has them: keys recorded first, then everything through one session."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest
import yaml

pytestmark = pytest.mark.e2e


class Front(asyncssh.SSHServer):
    def __init__(self, jump: "Jump") -> None:
        self.jump = jump

    def connection_made(self, conn: Any) -> None:
        self.jump.connections.append(conn)

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        self.jump.logins += 1
        return (username, password) == ("ops", "through")

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        self.jump.asked.add(dest_host)
        return True


class Jump:
    """A jump host on loopback, whose key can be changed as a reinstallation does."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.asked: set[str] = set()
        self.connections: list[Any] = []
        self.logins = 0
        self.port = 0
        self.start()

    def do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    def start(self) -> None:
        async def listen() -> Any:
            key = asyncssh.generate_private_key("ssh-ed25519")
            return await asyncssh.listen(
                "127.0.0.1", self.port, server_factory=lambda: Front(self), server_host_keys=[key], reuse_address=True
            )

        self.server = self.do(listen())
        self.port = self.server.get_port()

    def stop(self) -> None:
        async def end() -> None:
            self.server.close()
            for connection in self.connections:
                connection.abort()
            await self.server.wait_closed()
            await asyncio.sleep(0.05)
            pending = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

        self.do(end())

    def close(self) -> None:
        self.stop()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()


@pytest.fixture
def jump() -> Iterator[Jump]:
    made = Jump()
    yield made
    made.close()


def site(project: Any, jump: Jump) -> None:
    """Write a target for the simulated switches as if they stood in a hall behind the jump host."""
    (endpoints,) = (project.folder / ".railweave" / "sim").glob("*/endpoints.json")
    known = json.loads(endpoints.read_text(encoding="utf-8"))
    target = yaml.safe_load((project.folder / "inventory" / "sim.yml").read_text(encoding="utf-8"))
    target |= {
        "source": "addresses",
        "devices": known["devices"],
        "ssh": {
            "username": known["username"],
            "key_file": known["key_file"],
            "agent": False,
            "known_hosts": "inventory/known_hosts",
            "jump": {
                "host": "127.0.0.1",
                "port": jump.port,
                "username": "ops",
                "password_env": "JUMP_PASSWORD",
                "agent": False,
            },
        },
    }
    (project.folder / "inventory" / "hall.yml").write_text(yaml.safe_dump(target), encoding="utf-8")
    project.environ |= {"JUMP_PASSWORD": "through", "RAILWEAVE_TARGET": "hall"}


def test_a_site_behind_a_jump_host_is_trusted_deployed_and_found_without_drift(new_project: Any, jump: Jump) -> None:
    project = new_project("lab-4.yml")
    project.up()
    site(project, jump)
    known_hosts: Path = project.folder / "inventory" / "known_hosts"

    said = project.run("plan", status=1)
    assert "the file of host keys inventory/known_hosts does not exist" in said.stderr
    assert "needs --yes" in project.run("trust", status=1).stderr
    assert not known_hosts.exists(), "without consent nothing is recorded"
    trusted = project.json("trust", "--yes")
    assert trusted["recorded"] == ["jump host", "lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2"]
    assert {one["fingerprint"][:7] for one in trusted["keys"]} == {"SHA256:"}
    before = known_hosts.read_bytes()
    assert project.json("trust")["recorded"] == []

    assert project.json("deploy", "--yes", "--provision")["result"] == "done"
    assert project.json("drift", "--exit-code")["drift"] is False
    assert len(jump.asked) == 4
    (entry,) = project.json("audit")["entries"]
    assert (entry["target"], entry["result"], len(entry["devices"])) == ("hall", "done", 4)

    # The jump host is reinstalled: nobody is led past it unawares.
    jump.stop()
    jump.start()
    assert "not the known one" in project.run("plan", status=1).stdout
    assert "RW605" in project.run("trust", "--yes", status=1).stderr
    assert known_hosts.read_bytes() == before
    assert project.json("trust", "--yes", "--replace")["recorded"] == ["jump host"]
    assert project.run("plan", "--exit-code").returncode == 0


def test_drift_is_found_ignored_for_a_time_and_mended(deployed_lab: Any) -> None:
    project = deployed_lab
    assert project.json("drift", "--exit-code")["drift"] is False
    project.on("lab-leaf1", "sudo -n config interface mtu Ethernet0 9000")
    found = project.json("drift", "--exit-code", status=2)
    assert [(one["device"], one["table"], one["field"], one["before"]) for one in found["changes"]] == [
        ("lab-leaf1", "PORT", "mtu", "9000")
    ]
    project.run("drift")
    rules = project.folder / "drift-ignore.yml"
    rule = "ignore:\n  - {table: PORT, key: Ethernet0, field: mtu, device: lab-leaf*, reason: a trial, until: %s}\n"
    rules.write_text(rule % "2999-01-01", encoding="utf-8")
    assert "a trial" in project.run("drift", "--exit-code").stdout
    rules.write_text(rule % "2020-01-01", encoding="utf-8")
    assert "RW511" in project.run("drift", "--exit-code", status=2).stderr
    assert "9000 → 9100" in project.run("drift", "--markdown").stdout
    assert project.deploy()["result"] == "done"
    assert project.json("drift", "--exit-code")["drift"] is False
