"""The private key of a login, read once for all switches.

paramiko reads and decodes the file for every connection, as an RSA, an ECDSA and an Ed25519 key until one succeeds.
That took a tenth of the CPU time of a switch without changes (measured).
"""

import functools
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import paramiko


def with_key(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of paramiko's ``connect`` with the key in place of its file.

    They are unchanged if paramiko has to read the file itself: several files, a certificate beside the key, or a file
    that cannot be read, whose error paramiko reports.
    """
    path = parameters.get("key_filename")
    if not isinstance(path, str) or parameters.get("pkey") is not None:
        return parameters
    # paramiko loads the certificate of an OpenSSH key by the name of the file.
    if os.path.isfile(f"{path}-cert.pub"):
        return parameters
    try:
        stat = os.stat(path)
    except OSError:
        return parameters
    passphrase = parameters.get("passphrase") or parameters.get("password") or None
    key = _key(path, passphrase, stat.st_mtime_ns, stat.st_size)
    if key is None:
        return parameters
    return {**parameters, "key_filename": None, "pkey": key}


@functools.lru_cache(maxsize=8)
def _key(path: str, passphrase: str | None, mtime_ns: int, size_bytes: int) -> "paramiko.PKey | None":
    """Return the key in a file, None if it cannot be read as any kind.

    Time and size of the file are arguments so that a changed file is read again.
    """
    import paramiko

    for kind in (paramiko.RSAKey, paramiko.ECDSAKey, paramiko.Ed25519Key):
        try:
            return kind.from_private_key_file(path, passphrase)
        except (paramiko.SSHException, OSError, ValueError):
            continue
    return None
