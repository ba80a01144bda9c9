"""The known_hosts file of a target, and a jump host in a target file."""

import base64
import hashlib
import hmac
import socket
from pathlib import Path

import pytest
from napalm.base.exceptions import ConnectionException

from napalm_sonic.driver import SonicDriver
from nornir_railweave.target.known_hosts import record, recorded_keys
from nornir_railweave.target.model import JumpLogin
from nornir_railweave.target.reach import resolve
from nornir_railweave.target.target_file import parse_target
from railweave.api.design.intent import load_designed
from railweave.errors import RefusedError

JUMP = "source: addresses\naddress: '{name}.example'\nssh:\n  jump:\n    host: jump.example\n"


def test_a_key_is_recorded_beside_those_of_others(tmp_path: Path) -> None:
    file = tmp_path / "inventory" / "known_hosts"
    record(file, {"leaf1": "ssh-ed25519 AAA"})
    record(file, {"[leaf2]:2222": "ssh-ed25519 BBB"})
    assert file.read_text() == "leaf1 ssh-ed25519 AAA\n[leaf2]:2222 ssh-ed25519 BBB\n"
    assert recorded_keys(file, "[leaf2]:2222") == (("ssh-ed25519", "BBB"),)


def test_a_key_takes_the_place_of_every_other_key_of_its_host_and_of_no_other_host(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    salt = base64.b64encode(b"s" * 20).decode()
    digest = base64.b64encode(hmac.new(b"s" * 20, b"leaf1", hashlib.sha1).digest()).decode()
    kept = "# of the site\n\nleaf2,leaf10 ssh-rsa CCC comment\n@revoked leaf1 ssh-rsa DDD\n"
    file.write_text(f"{kept}leaf1 ssh-rsa OLD\nleaf1,leaf9 ssh-ed25519 OLD\n|1|{salt}|{digest} ssh-rsa OLD\n")
    record(file, {"leaf1": "ssh-ed25519 NEW"})
    assert file.read_text() == f"{kept}leaf9 ssh-ed25519 OLD\nleaf1 ssh-ed25519 NEW\n"


def test_a_failure_leaves_the_file_and_no_other_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "known_hosts"
    file.write_text("leaf1 ssh-rsa OLD\n")
    file.chmod(0o640)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("railweave.files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        record(file, {"leaf1": "ssh-rsa NEW"})
    assert file.read_text() == "leaf1 ssh-rsa OLD\n"
    assert list(tmp_path.iterdir()) == [file]
    monkeypatch.undo()
    record(file, {"leaf1": "ssh-rsa NEW"})
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_jump_host_is_read_and_bounds_the_workers() -> None:
    target = parse_target(JUMP + "    key_file: /k\n    channels: 8\n", "t", "t")
    assert target.login.jump == JumpLogin(host="jump.example", key_file=Path("/k"), channels=8)
    assert target.rollout.workers == 8
    assert parse_target(JUMP + "    channels: 200\n", "t", "t").rollout.workers == 50


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (JUMP + "    password: x\n", "RW603", "`password` would put a secret"),
        (JUMP + "    hots: x\n", "RW601", "unknown key `hots`"),
        ("source: sim\nssh: {jump: {port: 22}}\n", "RW601", "`host` is missing"),
        ("source: sim\ndriver: eos\nssh: {jump: {host: j}}\n", "RW601", "needs the driver `sonic`"),
    ],
)
def test_a_wrong_jump_host_is_refused(text: str, code: str, words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_target(text, "t.yml", "t")
    (found,) = refused.value.diagnostics
    assert found.code == code
    assert words in found.message


def test_the_agent_alone_is_a_login_that_netmiko_takes(tmp_path: Path) -> None:
    fabric = load_designed(Path(__file__).resolve().parents[3] / "intent" / "lab-4.yml").fabric
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        target = parse_target(f"source: addresses\naddress: '{{name}}.invalid'\nssh: {{port: {port}}}\n", "t", "t")
        options = dict(resolve(fabric, target, tmp_path, {})["lab-leaf1"].options)
        with pytest.raises(ConnectionException) as refused:
            SonicDriver("127.0.0.1", "admin", "", optional_args=options).open()
    assert "key_file" not in str(refused.value)
    assert "refused" in str(refused.value).lower()
