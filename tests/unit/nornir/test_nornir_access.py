"""The login of a target is looked at before the first connection; exact reports are in `tests/refused/commands`."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nornir_railweave.target.access import agent_fault, check_access, is_encrypted
from nornir_railweave.target.connect import build
from nornir_railweave.target.endpoints import ENDPOINTS, Endpoints, SwitchEndpoint, write_endpoints
from nornir_railweave.target.target_file import parse_target
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric

ADDRESSES = "source: addresses\naddress: '{name}'\n"


@contextmanager
def agent(path: Path, answer: bytes) -> Iterator[dict[str, str]]:
    """Run an SSH agent that gives one answer; yields the environment that names it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            client, _ = listener.accept()
            with client:
                client.recv(16)
                client.sendall(answer)

        server = threading.Thread(target=serve)
        server.start()
        yield {"SSH_AUTH_SOCK": str(path)}
        server.join(timeout=10)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"\0\0\0\x05\x0c\0\0\0\x01", ""),
        (b"\0\0\0\x05\x0c\0\0\0\0", "the agent holds no key"),
        (b"\0\0\0\x01\x05", "the agent of SSH_AUTH_SOCK does not list its keys ({path})"),
    ],
)
def test_an_agent_is_asked_for_its_keys(answer: bytes, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "agent"
    with agent(path, answer) as environ:
        assert agent_fault(environ) == fault.format(path=path)


def test_a_key_that_may_not_be_read_is_named_with_the_command_for_its_owner(
    lab: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    target = parse_target(f"{ADDRESSES}ssh: {{key_file: key}}", "t.yml", "t")
    nornir = build(lab, target)
    monkeypatch.setattr(Path, "open", closed)
    (refused,) = check_access(target, nornir, {})
    assert refused.message == "the key file key cannot be read: Permission denied"
    assert refused.fix == "let the user who runs railweave read it, and nobody else: `chmod 600 key` by its owner"
    assert refused.where.line == 3


@pytest.mark.parametrize(
    "text",
    [
        "source: sim",
        f"{ADDRESSES}ssh: {{password_env: PASSWORD}}",
        f"{ADDRESSES}sites: {{west: {{devices: ['lab-*'], command: [ssh, west]}}}}",
    ],
)
def test_a_login_that_needs_no_agent_here_is_not_refused_without_one(text: str, lab: Fabric, tmp_path: Path) -> None:
    target = parse_target(text, "t.yml", "t")
    login = parse_target(ADDRESSES, "t.yml", "t") if target.source == "sim" else target
    assert check_access(target, build(lab, login, environ={"PASSWORD": "of-the-switches"}), {}) == ()


def test_switches_that_are_reached_by_docker_exec_need_no_login(lab: Fabric, tmp_path: Path) -> None:
    target = parse_target("source: lab", "t.yml", "t")
    folder = tmp_path / "lab" / lab.name
    folder.mkdir(parents=True)
    devices = {switch.name: SwitchEndpoint(switch.name, 0) for switch in lab.switches}
    faults = {}
    for transport in ("docker", "ssh"):
        write_endpoints(folder / ENDPOINTS, Endpoints(devices, options={"transport": transport}))
        faults[transport] = [fault.message for fault in check_access(target, build(lab, target, tmp_path), {})]
    assert faults["docker"] == []
    assert faults["ssh"] == ["target t logs in by an SSH agent, but no agent runs (SSH_AUTH_SOCK is not set)"]


def test_both_the_jump_host_and_the_switches_are_looked_at(lab: Fabric) -> None:
    jump = "jump: {host: jump.example.net, key_file: none}"
    target = parse_target(f"{ADDRESSES}ssh: {{agent: false, {jump}}}", "t.yml", "t")
    of_jump, of_switches = check_access(target, build(lab, target), {})
    assert of_jump.message == "the key file none does not exist"
    assert of_switches.message == "target t names no key, no password and no agent to log in with"


@pytest.mark.parametrize(
    ("key", "encrypted"),
    [
        (b"-----BEGIN ENCRYPTED %s KEY-----", True),
        (b"-----BEGIN RSA %s KEY-----\nProc-Type: 4,ENCRYPTED", True),
        (b"-----BEGIN %s KEY-----\nMC4=", False),
        (b"-----BEGIN OPENSSH %s KEY-----\nnot base64\n-----END", False),
    ],
)
def test_a_passphrase_is_recognised_in_every_form_of_a_key(key: bytes, encrypted: bool) -> None:
    assert is_encrypted(key.replace(b"%s", b"PRIVATE")) is encrypted


def test_a_user_without_a_home_folder_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(path: Path) -> Path:
        raise RuntimeError(f"Could not determine home directory of {path}.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    with pytest.raises(RefusedError) as refused:
        parse_target(f"{ADDRESSES}ssh: {{key_file: ~/.ssh/id_ed25519}}", "t.yml", "t")
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.message == "ssh.key_file: this user has no home folder: write the whole path in place of `~`"
