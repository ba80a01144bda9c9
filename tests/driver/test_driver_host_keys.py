"""Known host keys of one switch out of a large file."""

import base64
import hashlib
import hmac
import os
from pathlib import Path
from typing import Any

import asyncssh
import paramiko
import pytest
from napalm.base.exceptions import ConnectionException

from napalm_sonic.host_check import is_certified
from napalm_sonic.host_keys import KnownKeys, known_keys, known_lines, known_name


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
    assert [one.get_base64() for one in known_keys([file], "leaf1").keys] == [wanted.split()[2]]


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
    assert known_keys([file], "leaf1").keys == ()


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("leaf1", True),
        ("LEAF?", True),
        ("*,!leaf2", True),
        ("*,!leaf1", False),
        ("!leaf2", False),
        ("leaf", False),
        ("[leaf1]:22", False),
        ("{hash}", True),
        ("|1|x|y", False),
    ],
)
@pytest.mark.parametrize("mark", ["", "@revoked ", "@cert-authority "])
def test_patterns_of_names_are_read_as_sshd_does(tmp_path: Path, mark: str, names: str, found: bool) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"{mark}{names.format(hash=hashed('leaf1'))} {key()}\n@mystery leaf1 {key()}\n@revoked\n")
    known = known_keys([file], "leaf1")
    assert [len(known.keys), len(known.authorities), len(known.revoked)] == [
        found and mark == other for other in ("", "@cert-authority ", "@revoked ")
    ]


def certificate(signer: asyncssh.SSHKey, kind: str = "ssh-ed25519", **given: Any) -> bytes:
    made = signer.generate_host_certificate(
        asyncssh.generate_private_key(kind), "k", **{"principals": ["leaf1"], "valid_before": 2000, **given}
    )
    return base64.b64decode(made.export_certificate("openssh").split()[1])


def known(*authorities: asyncssh.SSHKey, revoked: tuple[asyncssh.SSHKey, ...] = ()) -> KnownKeys:
    blobs = [[one.public_data for one in some] for some in (authorities, revoked)]
    kinds = [[paramiko.PKey.from_type_string(paramiko.Message(one).get_text(), one) for one in some] for some in blobs]
    return KnownKeys("leaf1", (), tuple(kinds[0]), tuple(kinds[1]))


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"])
def test_a_certificate_of_a_known_authority_is_accepted(kind: str) -> None:
    authority = asyncssh.generate_private_key(kind)
    assert is_certified(certificate(authority, kind), known(authority), 1000)
    assert not is_certified(certificate(authority), known(), 1000)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"principals": ["leaf10", "other"]}, "not for leaf1, but for leaf10, other"),
        ({"principals": []}, "but for no host"),
        ({"valid_before": 900}, "its time is over"),
        ({"valid_after": 1100}, "its time is over, or has not come yet"),
    ],
)
def test_a_certificate_that_does_not_fit_is_refused(given: dict[str, Any], words: str) -> None:
    authority = asyncssh.generate_private_key("ssh-ed25519")
    with pytest.raises(paramiko.SSHException, match=words):
        is_certified(certificate(authority, **given), known(authority), 1000)


def test_a_forged_certificate_one_of_a_user_and_a_revoked_authority_are_refused() -> None:
    authority = asyncssh.generate_private_key("ssh-ed25519")
    signed = certificate(authority)
    with pytest.raises(paramiko.SSHException, match="signature is not valid"):
        is_certified(signed[:-1] + bytes([signed[-1] ^ 1]), known(authority), 1000)
    with pytest.raises(paramiko.SSHException, match="authority of the host certificate is revoked"):
        is_certified(certificate(authority), known(authority, revoked=(authority,)), 1000)
    made = authority.generate_user_certificate(asyncssh.generate_private_key("ssh-ed25519"), "k", principals=["leaf1"])
    with pytest.raises(paramiko.SSHException, match="not one of a host"):
        is_certified(base64.b64decode(made.export_certificate("openssh").split()[1]), known(authority), 1000)


def test_a_revoked_key_is_refused_though_it_is_recorded_and_any_key_is_accepted(served: Any) -> None:
    recorded = served.known_hosts.read_text(encoding="utf-8")
    served.known_hosts.write_text(f"{recorded}@revoked {recorded}", encoding="utf-8")
    for strict in (True, False):
        with pytest.raises(ConnectionException, match="host key is revoked"):
            served.driver(ssh_strict=strict).open()


def test_a_switch_with_a_certificate_needs_no_line_of_its_own(served: Any, authority: asyncssh.SSHKey) -> None:
    public = authority.export_public_key("openssh").decode()
    served.known_hosts.write_text(f"@cert-authority * {public}", encoding="utf-8")
    with served.driver(ssh_strict=True) as driver:
        assert driver.cli(["echo one"]) == {"echo one": "one\n"}
    served.known_hosts.write_text(f"@cert-authority leaf9 {public}", encoding="utf-8")
    with pytest.raises(ConnectionException, match="host key is unknown"):
        served.driver(ssh_strict=True).open()
