"""Certificates of a test: signed by themselves, for 127.0.0.1."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


def write_certificate(folder: Path, ends: datetime | None = None) -> tuple[Path, Path]:
    """Write a certificate that is valid until ``ends`` and its key into a folder, and return both files."""
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "exporter")])
    last = ends or datetime.now(UTC) + _DAY
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(last, datetime.now(UTC)) - _DAY)
        .not_valid_after(last)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, SHA256())
    )
    certificate_file = folder / "exporter.crt"
    certificate_file.write_bytes(certificate.public_bytes(Encoding.PEM))
    key_file = folder / "exporter.key"
    key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate_file, key_file
