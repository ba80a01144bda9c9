"""Whether the host key of a connection is to be trusted: before any login, in the transport itself.

paramiko compares keys with known ones and knows neither revoked keys nor certificates. Here a revoked key is refused
whatever else says of it, and a certificate is accepted that a known authority signed for this host (OpenSSH's
PROTOCOL.certkeys). A key that is recorded for the host itself goes before an authority.
"""

import functools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napalm_sonic.host_keys import KnownKeys, known_keys, known_places, matches

if TYPE_CHECKING:
    import paramiko

_CERTIFICATE = "-cert-v01@openssh.com"
_HOST_CERTIFICATE = 2
# How many fields of a certificate belong to its key; the ECDSA kinds have two.
_KEY_FIELDS = {"ssh-ed25519": 1, "ssh-rsa": 2}
# Signatures with SHA-1, which OpenSSH accepts from no authority.
_BROKEN_SIGNATURES = {"ssh-rsa", "ssh-dss"}


def check_host_key(
    client: "paramiko.SSHClient", files: Iterable[Path], name: str, otherwise: Any
) -> "tuple[KnownKeys, Callable[..., paramiko.Transport]]":
    """Let ``client`` check the key of the host ``name`` by these known_hosts files.

    ``otherwise`` is the policy for a host of which the files have no key. Returns the known keys, and the
    ``transport_factory`` for the client's ``connect``. Raises KnownHostsError.
    """
    files = tuple(files)
    keys = known_keys(files, name)
    for key in keys.keys:
        client.get_host_keys().add(name, key.get_name(), key)
    client.set_missing_host_key_policy(_certified_or(otherwise))

    def make_transport(*arguments: Any, **named: Any) -> Any:
        transport = _transport_class()(*arguments, **named)
        transport.known_keys = keys
        transport.revoked_at = functools.partial(known_places, files, name, "@revoked")
        return transport

    return keys, make_transport


# The class is defined in a function so that paramiko is imported late.
@functools.cache
def _transport_class() -> Any:
    import paramiko

    ciphers: tuple[str, ...] = vars(paramiko.Transport)["_preferred_ciphers"]

    class Transport(paramiko.Transport):
        """Ciphers that authenticate themselves first: a separate MAC costs a loop over every byte in Python.

        A session that waits looks for its end every second; ten times a second, fifty sessions keep a processor busy.
        """

        _preferred_ciphers = tuple(sorted(ciphers, key=lambda name: "gcm@openssh.com" not in name))
        _active_check_timeout = 1.0
        known_keys: KnownKeys
        revoked_at: Callable[[], str]
        certified = False

        @property
        def preferred_keys(self) -> tuple[str, ...]:
            """Return the host key algorithms: certificates first if only an authority is known, otherwise last."""
            algorithms = super().preferred_keys
            prefers_certificates = bool(self.known_keys.authorities) and not self.known_keys.keys
            return tuple(sorted(algorithms, key=lambda name: name.endswith(_CERTIFICATE) is not prefers_certificates))

        def _verify_key(self, host_key: bytes, sig: bytes) -> None:
            """Check the signature as paramiko does, then what the files say; raises SSHException."""
            super()._verify_key(host_key, sig)  # type: ignore[misc]  # the stubs have no private names
            if self.host_key in self.known_keys.revoked:
                raise paramiko.SSHException(
                    f"the host key is revoked (@revoked, {self.revoked_at()}): do not trust this host"
                )
            if str(self.host_key_type).endswith(_CERTIFICATE):
                try:
                    self.certified = is_certified(host_key, self.known_keys, time.time())
                except paramiko.SSHException:
                    raise
                except Exception as error:  # bytes of a stranger, read by paramiko's decoders
                    raise paramiko.SSHException("the host certificate cannot be read") from error

    return Transport


def _certified_or(otherwise: Any) -> Any:
    """Return the policy that accepts hosts with a valid certificate, and leaves all others to ``otherwise``."""
    import paramiko

    class CertifiedOr(paramiko.MissingHostKeyPolicy):
        """Accepts a host that showed a valid certificate; leaves all others to another policy."""

        def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
            """Raise SSHException for a host that is not to be trusted."""
            if not getattr(client.get_transport(), "certified", False):
                otherwise.missing_host_key(client, hostname, key)

    return CertifiedOr()


@dataclass(frozen=True, slots=True)
class _Certificate:
    """The fields of a host certificate that decide whether it is accepted."""

    role: int
    principals: tuple[str, ...]
    valid_after_s: int
    valid_before_s: int
    critical: bytes
    # The public key of the authority, the bytes that it signed, and its signature.
    signer: "paramiko.PKey"
    signed: bytes
    signature: bytes


def is_certified(blob: bytes, keys: KnownKeys, now_s: float) -> bool:
    """Tell whether an authority for the host signed the certificate ``blob``.

    Raises SSHException for a revoked authority, and if an authority of ``keys`` signed a certificate that is not valid.
    """
    from paramiko import SSHException

    certificate = _decoded_certificate(blob)
    if certificate.signer in keys.revoked:
        raise SSHException("the authority of the host certificate is revoked (@revoked in known_hosts)")
    if certificate.signer not in keys.authorities:
        return False
    fault = _fault(certificate, keys.host, now_s)
    if fault:
        raise SSHException(f"the host certificate is refused: {fault}")
    return True


def _decoded_certificate(blob: bytes) -> _Certificate:
    """Return the fields of a certificate; raises what paramiko's decoders raise for a stranger's bytes."""
    from paramiko import Message, PKey

    # The fields in the order of OpenSSH's PROTOCOL.certkeys.
    message = Message(blob)
    key_type = message.get_text().removesuffix(_CERTIFICATE)
    # A nonce precedes the key.
    for _ in range(1 + _KEY_FIELDS.get(key_type, 2)):
        message.get_string()
    # The serial number.
    message.get_int64()
    role = message.get_int()
    # The id of the key.
    message.get_string()
    principals = _texts(message.get_string())
    valid_after_s = message.get_int64()
    valid_before_s = message.get_int64()
    critical = message.get_string()
    # The extensions, and a reserved field.
    message.get_string()
    message.get_string()
    signer_blob = message.get_binary()
    signed = message.get_so_far()
    signature = message.get_binary()
    signer = PKey.from_type_string(Message(signer_blob).get_text(), signer_blob)
    return _Certificate(
        role=role,
        principals=principals,
        valid_after_s=valid_after_s,
        valid_before_s=valid_before_s,
        critical=critical,
        signer=signer,
        signed=signed,
        signature=signature,
    )


def _texts(field: bytes) -> tuple[str, ...]:
    """Return the texts in a field that lists several."""
    from paramiko import Message

    message = Message(field)
    texts: list[str] = []
    while message.get_remainder():
        texts.append(message.get_text())
    return tuple(texts)


def _fault(certificate: _Certificate, host: str, now_s: float) -> str:
    """Return why a certificate of a known authority is not valid for ``host`` now, empty if it is."""
    from paramiko import Message

    algorithm = Message(certificate.signature).get_text()
    if algorithm in _BROKEN_SIGNATURES:
        return "its signature is not valid"
    # A message of its own: the one above is read already.
    if not certificate.signer.verify_ssh_sig(certificate.signed, Message(certificate.signature)):
        return "its signature is not valid"
    # Options that a client does not know are critical: OpenSSH defines none for hosts.
    if certificate.role != _HOST_CERTIFICATE or certificate.critical:
        return "it is not one of a host"
    if not certificate.valid_after_s <= now_s < certificate.valid_before_s:
        return "its time is over, or has not come yet"
    if not any(matches(name, host) for name in certificate.principals):
        return f"it is not for {host}, but for {', '.join(certificate.principals) or 'no host'}"
    return ""
