"""`railweave trust` on keys that no switch should show: revoked ones, and one key of several switches."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import asyncssh
import paramiko
import pytest

from nornir_railweave.device import trusting
from railweave.api.operator import Operator
from railweave.api.project import Project
from railweave.api.targets.host_keys import trust
from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError

ROOT = Path(__file__).resolve().parents[3]
LEAVES = ("lab-leaf1", "lab-leaf2")


def new_key() -> str:
    return asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode().strip()


class Agreeing(Operator):
    """Agrees to everything and notes what it is warned of."""

    def __init__(self) -> None:
        self.warned: list[Diagnostic] = []

    def warn(self, found: Iterable[Diagnostic]) -> None:
        self.warned += found

    def approves_keys(self, fresh: Sequence[Any], known_hosts: Path) -> bool:
        return True


@pytest.fixture
def shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Callable[..., Any]]:
    """Return a function that runs `trust` in a new project on switches that show these keys."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inventory").mkdir()
    login = "{username: admin, known_hosts: inventory/known_hosts}"
    (tmp_path / "inventory/site.yml").write_text(f"source: addresses\naddress: '{{name}}'\nssh: {login}\n")

    def prepare(*keys: str) -> Callable[..., Any]:
        by_name = dict(zip(LEAVES, keys, strict=True))
        monkeypatch.setattr(trusting, "connect", lambda host, port, timeout_s: host)

        def fetch(host: str, kinds: list[str], timeout_s: float) -> paramiko.PKey:
            kind, data = by_name[host].split()
            return paramiko.PKey.from_type_string(kind, asyncssh.import_public_key(f"{kind} {data}").public_data)

        monkeypatch.setattr(trusting, "_fetch", fetch)
        return lambda operator, *names, **given: trust(
            Project(ROOT / "intent/lab-4.yml", operator), "site", names, **given
        )

    return prepare


def test_switches_with_the_same_key_are_named(shows: Any) -> None:
    key, operator = new_key(), Agreeing()
    assert shows(key, key)(operator, *LEAVES).recorded == LEAVES
    (one,) = operator.warned
    assert one.devices == LEAVES
    assert one.message.startswith("lab-leaf1, lab-leaf2 have the same host key, SHA256:")
    operator.warned.clear()
    shows(key, new_key())(operator, LEAVES[0])
    assert [one.devices for one in operator.warned] == [LEAVES], "also where the other one was recorded before"
    operator.warned.clear()
    shows(key, new_key())(operator, *LEAVES, replace=True)
    assert operator.warned == []


def test_a_revoked_key_is_never_recorded(shows: Any) -> None:
    key = new_key()
    known_hosts = Path("inventory/known_hosts")
    known_hosts.write_text(f"@revoked * {key}\n")
    with pytest.raises(RefusedError, match=r"lab-leaf1 \(lab-leaf1\) shows a host key that is marked @revoked"):
        shows(key, new_key())(Agreeing(), *LEAVES, replace=True)
    assert known_hosts.read_text() == f"@revoked * {key}\n"
