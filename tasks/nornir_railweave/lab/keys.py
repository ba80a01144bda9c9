"""The keys of a lab: its own pair, which logs in to every switch, and a host key for each switch."""

import os
from pathlib import Path

from nornir_railweave.lab.folder import HOST_ADDRESS, LabFolder


def write_keys(lab: LabFolder) -> None:
    """Make the lab's own key pair and a host key for every switch, for our node image."""
    if not lab.own_image:
        return
    private, public = _new_key()
    _write_private(lab.folder / "id_ed25519", private)
    (lab.folder / "known_hosts").write_text(host_keys(lab, public), encoding="utf-8")


def host_keys(lab: LabFolder, public: str) -> str:
    """Write a host key for every switch, and the lab's ``public`` key that may log in there.

    Return the lines of known_hosts with the host keys.
    """
    known_hosts: list[str] = []
    for name, port in lab.ssh_ports.items():
        host_private, host_public = _new_key()
        folder = lab.folder / "nodes" / name
        _write_private(folder / "ssh_host_ed25519_key", host_private)
        (folder / "authorized_keys").write_text(public + "\n", encoding="utf-8")
        known_hosts.append(f"[{HOST_ADDRESS}]:{port} {host_public}\n")
    return "".join(known_hosts)


def public_key(lab: LabFolder) -> str:
    """Return the lab's public key."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key

    key = load_ssh_private_key((lab.folder / "id_ed25519").read_bytes(), None)
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def _new_key() -> tuple[bytes, str]:
    """Return a new key: the private one as a file has it, the public one as a line of known_hosts has it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    return private, key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def _write_private(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
