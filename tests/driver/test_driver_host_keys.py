"""Known host keys of one switch out of a large file."""

import base64
import hashlib
import hmac
import os
from pathlib import Path

import asyncssh
import paramiko
import pytest

from napalm_sonic.host_keys import add_known_keys, known_lines, known_name


def key() -> str:
    return asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode().strip()


def hashed(name: str) -> str:
    salt = os.urandom(20)
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


def test_a_port_other_than_22_is_part_of_the_name() -> None:
    assert known_name("leaf1", 22) == "leaf1"
    assert known_name("10.0.0.1", 2222) == "[10.0.0.1]:2222"


@pytest.mark.parametrize("line", ["leaf1 {key}", "10.0.0.9,leaf1 {key} comment", "{hash} {key}"])
def test_every_form_of_a_name_is_found_and_only_its_own_lines(tmp_path: Path, line: str) -> None:
    file = tmp_path / "known_hosts"
    wanted = line.format(key=key(), hash=hashed("leaf1"))
    others = f"# comment\n\nleaf2 {key()}\n{hashed('leaf3')} {key()}\n@revoked leaf1 {key()}\nleaf10 {key()}\n"
    file.write_text(others + wanted + "\n")
    assert known_lines(file, "leaf1") == (wanted,)
    client = paramiko.SSHClient()
    add_known_keys(client, file, "leaf1")
    found = client.get_host_keys().lookup("leaf1")
    assert found is not None
    assert found["ssh-ed25519"].get_base64() == wanted.split()[2]
    client.close()


def test_a_file_that_changes_is_read_again_and_one_that_is_gone_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    assert known_lines(file, "leaf1") == ()
    file.write_text(f"leaf1 {key()}\n")
    assert len(known_lines(file, "leaf1")) == 1
    file.write_text(f"leaf1 {key()}\nleaf1 {key()}\n")
    assert len(known_lines(file, "leaf1")) == 2


def test_broken_lines_are_no_keys(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text("leaf1\nleaf1 ssh-ed25519\n|1|x|y ssh-ed25519 AAAA\n|1| z\n")
    client = paramiko.SSHClient()
    add_known_keys(client, file, "leaf1")
    assert client.get_host_keys().lookup("leaf1") is None
    client.close()
