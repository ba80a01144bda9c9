"""The web configuration of an exporter, in the form of Prometheus' own exporters: TLS and passwords, all by files.

https://prometheus.io/docs/prometheus/latest/configuration/https/ (``tls_server_config``, ``basic_auth_users``).
"""

import hashlib
import secrets
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.intent.positions import Document, decode, read_document

_CODE = "RW608"
_TLS = "tls_server_config"
_USERS = "basic_auth_users"
_FILES = ("cert_file", "key_file")
_KEYS: Mapping[str, tuple[str, ...]] = {"": (_TLS, _USERS), _TLS: _FILES}
_BCRYPT = ("$2a$", "$2b$", "$2y$")
# Costs as much time as a right password, so that names cannot be guessed by the time of an answer.
_NOBODY = b"$2b$10$4ZqC9sGgAh36/lowIvrHQebThEyI1Yld0QxKa9rEBRaEQnXfSOUi6"
_FORM = "docs/how-to/prometheus.md has an example"


@dataclass(frozen=True)
class WebConfig:
    """How scrapes reach the exporter: plain and open to all without a file."""

    tls: ssl.SSLContext | None = field(default=None, repr=False)
    # bcrypt hashes by name.
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Digests of logins that were right: bcrypt takes a tenth of a second, and a large fabric has 70 scrapes a second.
    _right: set[bytes] = field(default_factory=set, repr=False)
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def accepts(self, user: str, password: str) -> bool:
        """Tell whether a login is right; without users in the configuration every login is."""
        if not self.users:
            return True
        digest = hashlib.blake2b(f"{user}\0{password}".encode(), key=self._key).digest()
        if digest in self._right:
            return True
        stored = self.users.get(user, "").encode() or _NOBODY
        # The hash is computed for unknown users too, so that an answer takes as long for them.
        matches = _bcrypt_matches(password.encode(), stored)
        if not matches or user not in self.users:
            return False
        self._right.add(digest)
        return True


OPEN = WebConfig()


def _bcrypt_matches(password: bytes, stored: bytes) -> bool:
    """Tell whether a password has the bcrypt hash ``stored``; False for an invalid hash."""
    # Part of paramiko, which every login to a switch needs.
    import bcrypt

    try:
        # bcrypt itself uses 72 bytes.
        return bcrypt.checkpw(password[:72], stored)
    except ValueError:
        return False


def load_web_config(path: Path, now: datetime | None = None) -> WebConfig:
    """Return the configuration in a file, whose own file names are relative to its folder.

    Raises RefusedError with every fault: unknown keys, files that cannot be read, a certificate that expired, a
    password that is not a bcrypt hash. No message has the value of a password.
    """
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise RefusedError([error(_CODE, f"{path} cannot be read: {fault.strerror}", fix=_FORM)]) from None
    document = read_document(decode(data, str(path)), str(path), "web configuration", f"{_TLS}:")
    faults = [*document.diagnostics, *_unknown_keys(document, "", document.value)]
    tls = None
    if _TLS in document.value:
        tls = _tls_context(document, path.parent, faults, now or datetime.now(UTC))
    users = _users(document, faults)
    if faults:
        raise RefusedError(faults)
    return WebConfig(tls, users)


def _unknown_keys(document: Document, path: str, value: Mapping[str, Any]) -> list[Diagnostic]:
    """Return an error for each unknown key of ``value``, the mapping at ``path`` of the document ("" for its top)."""
    keys = _KEYS[path]
    faults = []
    for key in value:
        if key not in keys:
            name = f"{path}.{key}".lstrip(".")
            where = document.keys.get(name, Where(path=name))
            faults.append(error(_CODE, f"unknown key `{key}`", where, fix=f"known here: {', '.join(keys)}"))
    return faults


def _tls_context(document: Document, folder: Path, faults: list[Diagnostic], now: datetime) -> ssl.SSLContext | None:
    """Return the TLS settings of the server, and append what is wrong with them to ``faults``.

    Returns None where no certificate could be loaded. An expired certificate is a fault, but is loaded.
    """
    value = document.value[_TLS]
    if not isinstance(value, dict):
        faults.append(error(_CODE, f"`{_TLS}` is not a mapping of keys", document.places[_TLS], fix=_FORM))
        return None
    key_faults = _unknown_keys(document, _TLS, value)
    for name in _FILES:
        if not isinstance(value.get(name), str):
            where = document.places[_TLS]
            key_faults.append(error(_CODE, f"`{_TLS}.{name}` is missing", where, fix="name a PEM file"))
    faults += key_faults
    if key_faults:
        return None
    certificate = folder / str(value["cert_file"])
    key = folder / str(value["key_file"])
    where = document.places[f"{_TLS}.cert_file"]
    try:
        context = _load_context(certificate, key)
        invalidity = _invalidity(certificate, now)
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", "") or str(fault)
        fix = "name a PEM certificate and its PEM key without a passphrase, readable for this user"
        faults.append(error(_CODE, f"{certificate} and {key} cannot be used: {why}", where, fix=fix))
        return None
    if invalidity:
        faults.append(error(_CODE, f"{certificate} {invalidity}", where, fix="renew the certificate"))
    return context


def _load_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the TLS settings of a server with this certificate. Raises OSError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Without a password function OpenSSL would ask for the passphrase of a key at the terminal.
    context.load_cert_chain(certificate, key, password=lambda: "")
    return context


def _invalidity(file: Path, now: datetime) -> str:
    """Return when a certificate expired or begins to be valid; empty while it is valid. Raises ValueError, OSError."""
    from cryptography.x509 import load_pem_x509_certificate

    certificate = load_pem_x509_certificate(file.read_bytes())
    if certificate.not_valid_after_utc < now:
        return f"expired on {certificate.not_valid_after_utc:%Y-%m-%d}"
    if certificate.not_valid_before_utc > now:
        return f"is not valid before {certificate.not_valid_before_utc:%Y-%m-%d}"
    return ""


def _users(document: Document, faults: list[Diagnostic]) -> dict[str, str]:
    """Return the bcrypt hashes of the users by name, and append what is wrong with them to ``faults``."""
    value = document.value.get(_USERS, {})
    if not isinstance(value, dict):
        faults.append(error(_CODE, f"`{_USERS}` is not a mapping of names", document.places[_USERS], fix=_FORM))
        return {}
    for name, stored in value.items():
        if not isinstance(stored, str) or not stored.startswith(_BCRYPT):
            where = document.places.get(f"{_USERS}.{name}", document.places[_USERS])
            fix = "write the hash that `htpasswd -nBC 10 NAME` prints behind the colon"
            faults.append(error(_CODE, f"the password of `{name}` is not a bcrypt hash", where, fix=fix))
    return {str(name): str(stored) for name, stored in value.items()}
