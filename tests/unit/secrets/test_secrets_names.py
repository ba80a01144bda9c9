"""Which fields and row keys of CONFIG_DB are secrets, held against SONiC's YANG models."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from by_check import sampled
from yang_leaves import leaves_of

from railweave.secrets import (
    HIDDEN,
    is_secret,
    is_secret_key,
    secret_values,
    shown_document,
    shown_frr,
    shown_key,
    shown_row,
    shown_text,
)

ROOT = Path(__file__).resolve().parents[3]
MODELS = ROOT.parent / "shared" / "sonic-yang"
RELEASES = sorted(
    path for folder in (MODELS, MODELS.with_name(f"{MODELS.name}-next")) for path in folder.glob("2*") if path.is_dir()
)
SPEAKS_OF_SECRETS = re.compile(r"key|passw|passphrase|secret|communit|token|psk|cak|md5|credential", re.IGNORECASE)
_LINE = re.compile(r"(?P<table>\w+)\|(?P<field>\w+)(?P<key> key)?: (?:(?P<hidden>hidden)|shown, (?P<reason>.+))")


@dataclass(frozen=True)
class Known:
    """A leaf of the list: ``reason`` says why it is shown."""

    table: str
    field: str
    is_key: bool
    reason: str


def known_leaves() -> list[Known]:
    lines = (Path(__file__).parent / "sonic_leaves.txt").read_text(encoding="utf-8").splitlines()
    matches = [_LINE.fullmatch(line) for line in lines if not line.startswith("#")]
    assert all(matches)
    return [Known(one["table"], one["field"], bool(one["key"]), one["reason"] or "") for one in matches if one]


KNOWN = known_leaves()


@pytest.mark.parametrize("leaf", KNOWN, ids=lambda leaf: f"{leaf.table}|{leaf.field}")
def test_a_leaf_that_speaks_of_secrets_is_hidden_or_known_to_hold_none(leaf: Known) -> None:
    hidden = is_secret_key(leaf.table) if leaf.is_key else is_secret(leaf.table, leaf.field)
    assert hidden is not bool(leaf.reason)


@pytest.mark.parametrize("release", sampled(RELEASES, every=6), ids=lambda path: path.name)
def test_every_leaf_of_the_models_that_speaks_of_secrets_is_in_the_list(release: Path) -> None:
    listed = {(leaf.table, leaf.field, leaf.is_key) for leaf in KNOWN}
    leaves = list(leaves_of(release))
    assert len(leaves) > 1000
    speaking = {
        (leaf.table, leaf.name, leaf.is_key)
        for leaf in leaves
        if SPEAKS_OF_SECRETS.search(leaf.name) or SPEAKS_OF_SECRETS.search(leaf.description)
    }
    assert speaking
    assert speaking <= listed
    others = {
        (leaf.table, leaf.name) for leaf in leaves if not leaf.is_key and (leaf.table, leaf.name, False) not in speaking
    }
    assert [one for one in sorted(others) if is_secret(*one)] == []


@pytest.mark.parametrize(
    "field",
    [
        "md5",
        "key-string",
        "tcp_ao_key",
        "authkey",
        "pre_shared_key",
        "preSharedKey",
        "server_key",
        "api_token",
        "psk",
        "PASSWORD",
        "bindpw_secret",
        "v2Community",
        "secret_id",
        "session_token_id",
        "community_name",
        "key1",
        "authentication-md5-key",
        "private_key_file",
        "credentials",
        "old_passphrase",
        "sha256_key",
        "password_hash",
    ],
)
def test_in_a_table_that_nobody_knows_what_looks_like_a_secret_is_hidden(field: str) -> None:
    assert is_secret("VENDOR_SETTINGS", field)


@pytest.mark.parametrize(
    "field",
    [
        "key_id",
        "keyId",
        "auth_key_name",
        "key_type",
        "public_key",
        "ssh_pubkey",
        "keychain",
        "keepalive_interval",
        "password_policy",
        "token_rate",
        "rekey_interval",
        "min_key_size",
        "monitor",
        "hwsku",
        "passive",
        "tokyo",
    ],
)
def test_what_only_describes_a_key_is_shown(field: str) -> None:
    assert not is_secret("VENDOR_SETTINGS", field)


def test_of_a_table_named_for_its_secrets_every_field_is_one_unless_its_name_tells_otherwise() -> None:
    assert is_secret("VENDOR_TOKEN", "data")
    assert is_secret("MACSEC_KEYS", "hex")
    assert not is_secret("VENDOR_TOKEN", "expiry")
    assert not is_secret("VENDOR_KEY", "id")
    assert not is_secret("COMMUNITY_SET", "community_member")


def test_the_key_of_a_row_is_hidden_where_it_is_the_secret() -> None:
    assert shown_key("SNMP_COMMUNITY", "public") == HIDDEN
    assert shown_key("VENDOR_API_TOKEN", "abcdef") == HIDDEN
    assert shown_key("NTP_KEY", "42") == "42"
    assert shown_key("COMMUNITY_SET", "blackhole") == "blackhole"


def test_a_row_without_a_secret_is_itself() -> None:
    row = {"admin_status": "up"}
    assert shown_row("PORT", row) is row


def test_a_mark_tells_nothing_of_what_it_hides() -> None:
    short, long = ({"passkey": value, "auth_type": "pap"} for value in ("a", "b" * 60))
    assert shown_row("TACPLUS", short) == shown_row("TACPLUS", long) == {"passkey": HIDDEN, "auth_type": "pap"}


DOCUMENT = {
    "SNMP_COMMUNITY": {"s3-community": {"TYPE": "RO"}, "s3-gone": None},
    "RADIUS": {"global": {"passkey": "s3-passkey", "auth_type": "pap"}},
    "TACPLUS": {"global": {"passkey": None}},
    "VENDOR": {"x": {"api_tokens": ["s3-one", "s3-two"]}},
    "bgpraw": "router bgp 1\n neighbor 10.0.0.1 password s3-bgp with spaces\n neighbor 10.0.0.1 bfd\nexit\n",
}


def test_a_document_is_shown_without_its_secrets_and_otherwise_whole() -> None:
    shown = shown_document(DOCUMENT)
    assert "s3-" not in json.dumps(shown)
    assert shown["RADIUS"] == {"global": {"passkey": HIDDEN, "auth_type": "pap"}}
    assert shown["TACPLUS"] == {"global": {"passkey": None}}
    assert shown["bgpraw"] == "router bgp 1\n neighbor 10.0.0.1 password (hidden)\n neighbor 10.0.0.1 bfd\nexit\n"


def test_the_secrets_of_a_document_can_be_asked_for() -> None:
    assert secret_values(DOCUMENT) >= {
        "s3-community", "s3-gone", "s3-passkey", "s3-one", "s3-two", "s3-bgp with spaces",
    }  # fmt: skip
    assert secret_values({"PORT": {"Ethernet0": {"alias": "etp1"}}, "bgpraw": "router bgp 1\n"}) == frozenset()


GOLDEN = sorted((ROOT / "tests" / "golden" / "sonic_config").rglob("config_db.json"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: str(path.relative_to(ROOT / "tests" / "golden")))
def test_nothing_that_railweave_renders_by_itself_is_taken_for_a_secret(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    assert shown_document(document) == document


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: str(path.relative_to(ROOT / "tests" / "golden")))
def test_no_line_that_railweave_renders_by_itself_is_taken_for_a_secret(path: Path) -> None:
    text = path.with_name("frr.conf").read_text(encoding="utf-8")
    assert shown_frr(text) == text
    assert shown_text(text) == text
