"""The private key of a login, read once for all switches that it opens.

paramiko reads and decodes the file for every connection, as an RSA, an ECDSA and an Ed25519 key until one fits: a tenth
of what an unchanged switch costs (measured).
"""

import functools
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import paramiko


def with_key(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of paramiko's ``connect`` with the key in place of its file; as they are where paramiko is
    to read the file itself, or to say what is wrong with it."""
    path = parameters.get("key_filename")
    if not isinstance(path, str) or parameters.get("pkey") is not None or os.path.isfile(f"{path}-cert.pub"):
        return parameters
    try:
        stat = os.stat(path)
    except OSError:
        return parameters
    passphrase = parameters.get("passphrase") or parameters.get("password") or None
    key = _key(path, passphrase, stat.st_mtime_ns, stat.st_size)
    return parameters if key is None else {**parameters, "key_filename": None, "pkey": key}


@functools.lru_cache(maxsize=8)
def _key(path: str, passphrase: str | None, mtime_ns: int, size_bytes: int) -> "paramiko.PKey | None":
    """Read the file, None where it is none of these keys; its time and size are arguments so that a changed file is
    read again."""
    import paramiko

    for kind in (paramiko.RSAKey, paramiko.ECDSAKey, paramiko.Ed25519Key):
        try:
            return kind.from_private_key_file(path, passphrase)
        except (paramiko.SSHException, OSError, ValueError):
            continue
    return None
