"""The private key of a login is read once for all switches, and paramiko goes on to read what is no plain key file."""

import os
from pathlib import Path
from typing import Any

import paramiko
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from napalm_sonic import login_key
from napalm_sonic.login_key import with_key

KINDS: dict[type[paramiko.PKey], Any] = {
    paramiko.Ed25519Key: Ed25519PrivateKey.generate(),
    paramiko.ECDSAKey: generate_private_key(SECP256R1()),
    paramiko.RSAKey: generate_rsa(65537, 2048),
}


QUICK = PrivateFormat.OpenSSH.encryption_builder().kdf_rounds(1).build(b"open")
"""A key derived in one round, where ssh-keygen takes 16 or more: a third of a second of bcrypt."""


@pytest.fixture(autouse=True)
def nothing_read() -> None:
    login_key._key.cache_clear()


def write(path: Path, key: Any, encryption: KeySerializationEncryption | None = None) -> dict[str, Any]:
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, encryption or NoEncryption()))
    return {"key_filename": str(path), "pkey": None, "password": "", "passphrase": None, "username": "admin"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_stands_in_place_of_its_file(kind: type[paramiko.PKey], tmp_path: Path) -> None:
    parameters = write(tmp_path / "key", KINDS[kind])
    given = with_key(parameters)
    assert isinstance(given["pkey"], kind)
    assert given == {**parameters, "key_filename": None, "pkey": given["pkey"]}
    assert with_key(parameters)["pkey"] is given["pkey"]


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    parameters = write(tmp_path / "key", KINDS[paramiko.Ed25519Key])
    first = with_key(parameters)["pkey"]
    write(tmp_path / "key", Ed25519PrivateKey.generate())
    os.utime(tmp_path / "key", (1, 1))
    assert with_key(parameters)["pkey"] != first


@pytest.mark.parametrize("secret", ["passphrase", "password"])
def test_an_encrypted_key_is_read_with_its_passphrase(secret: str, tmp_path: Path) -> None:
    parameters = write(tmp_path / "key", KINDS[paramiko.Ed25519Key], QUICK)
    assert with_key(parameters) is parameters
    assert isinstance(with_key({**parameters, secret: "open"})["pkey"], paramiko.Ed25519Key)


def test_what_is_no_key_or_has_a_certificate_is_left_to_paramiko(tmp_path: Path) -> None:
    parameters = write(tmp_path / "key", KINDS[paramiko.Ed25519Key])
    (tmp_path / "key-cert.pub").write_text("ssh-ed25519-cert-v01@openssh.com AAAA")
    (tmp_path / "text").write_text("no key")
    for one in (
        parameters,
        *({**parameters, "key_filename": name} for name in (None, "/none", str(tmp_path / "text"))),
    ):
        assert with_key(one) is one
    other = {**parameters, "pkey": paramiko.RSAKey.generate(2048)}
    assert with_key(other) is other
