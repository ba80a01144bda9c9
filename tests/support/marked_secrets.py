"""An intent that holds a secret in every place there is for one, each with a mark that can be looked for."""

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from command_rig import own_template

from railweave.templates import _templates_of

MARK = "s3krit"
"""What every secret begins with; it stands in nothing else."""


def overrides(turn: str) -> dict[str, Any]:
    """Return overrides of tables that SONiC knows; ``turn`` is part of every secret, so that they can be changed."""

    def secret(name: str) -> str:
        return f"{MARK}-{turn}-{name}"

    return {
        "RADIUS": {"global": {"passkey": secret("radius"), "auth_type": "pap"}},
        "RADIUS_SERVER": {"10.9.0.1": {"passkey": secret("radius-server"), "priority": "1"}},
        "TACPLUS": {"global": {"passkey": secret("tacplus"), "auth_type": "pap"}},
        "TACPLUS_SERVER": {"10.9.0.2": {"passkey": secret("tacplus-server"), "priority": "1"}},
        "LDAP": {"global": {"bind_password": secret("ldap"), "bind_dn": "cn=admin"}},
        "SNMP_COMMUNITY": {secret("community"): {"TYPE": "RO"}},
        "SNMP_USER": {
            "operator": {
                "SNMP_USER_TYPE": "Priv",
                "SNMP_USER_PERMISSION": "RO",
                "SNMP_USER_AUTH_TYPE": "SHA",
                "SNMP_USER_AUTH_PASSWORD": secret("snmp-auth"),
                "SNMP_USER_ENCRYPTION_TYPE": "AES",
                "SNMP_USER_ENCRYPTION_PASSWORD": secret("snmp-priv"),
            }
        },
        "NTP_KEY": {"1": {"type": "md5", "value": secret("ntp"), "trusted": "yes"}},
        "MACSEC_PROFILE": {"access": {"primary_cak": secret("cak"), "primary_ckn": "01", "fallback_cak": secret("fb")}},
        "TELEMETRY": {"certs": {"server_key": f"/etc/{secret('telemetry')}.key"}},
        "RESTAPI": {"certs": {"server_key": f"/etc/{secret('restapi')}.key"}},
        "GNMI": {"certs": {"server_key": f"/etc/{secret('gnmi')}.key"}},
        "BGP_PEER_GROUP": {"default|EDGE": {"auth_password": secret("bgp-group")}},
    }


_REFUSED = frozenset({"NTP_KEY", "MACSEC_PROFILE", "BGP_PEER_GROUP"})
"""What no reload takes: sonic_yang_ext.py reads no list of another name than its table (NTP_KEYS_LIST), the keys of
MACsec are hexadecimal digits, and the peer group needs a BGP_GLOBALS row."""


def loadable_overrides(turn: str) -> dict[str, Any]:
    """Return those overrides that SONiC's YANG models accept."""
    return {name: rows for name, rows in overrides(turn).items() if name not in _REFUSED}


def overrides_of_nobody(turn: str) -> dict[str, Any]:
    """Return overrides of tables that nobody knows, whose secrets are told by their names."""
    fields = ("md5", "key-string", "tcp_ao_key", "authkey", "pre_shared_key", "server_key", "bindPassword", "psk")
    return {
        "VENDOR_ACCESS": {
            "peer": {
                **{name: f"{MARK}-{turn}-{name}" for name in fields},
                "api_tokens": [f"{MARK}-{turn}-t{number}" for number in (1, 2)],
                "mode": "strict",
            }
        },
        "VENDOR_TOKEN": {f"{MARK}-{turn}-token": {"data": f"{MARK}-{turn}-data", "expiry": "30"}},
    }


def write_intent(path: Path, *tables: Mapping[str, Any], session: str = "one") -> None:
    """Give the leaves of the intent at ``path`` the overrides in ``tables``, and all FRR sessions a password."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    document["overrides"] = {"leaf": {name: rows for one in tables for name, rows in one.items()}}
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    template = own_template(path.parents[1])
    lines = [line for line in template.read_text(encoding="utf-8").splitlines() if MARK not in line]
    peers = next(number for number, line in enumerate(lines) if line.endswith("}} peer-group"))
    lines.insert(peers + 1, lines[peers].replace("peer-group", f"password {MARK}-{session}-session"))
    template.write_text("\n".join([*lines, ""]), encoding="utf-8")
    _templates_of.cache_clear()  # commands that run in this process have compiled the template before


def files_with_the_mark(folder: Path) -> Iterator[Path]:
    """Yield the files below ``folder`` that hold a secret, by their paths in it."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and MARK.encode() in path.read_bytes():
            yield path.relative_to(folder)


def is_private(path: Path) -> bool:
    """Tell whether only its owner may read a file."""
    return stat.S_IMODE(path.stat().st_mode) == 0o600
