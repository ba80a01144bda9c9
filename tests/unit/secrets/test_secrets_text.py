"""What devices say, and commands, as logs and journals may hold it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.secrets import HIDDEN, shown_text

PEM = "PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("line 3: % Unknown command: neighbor 10.0.0.1 password §§", "line 3: % Unknown command: neighbor 10.0.0.1"),
        ("Error: bad value: passkey: §§", "Error: bad value: passkey: (hidden)"),
        ('Error: {"passkey": "§§", "auth_type": "pap"}', '"auth_type": "pap"'),
        ("{'RADIUS': {'global': {'passkey': '§\\'§'}}}", "{'RADIUS': {'global': {'passkey': '(hidden)'}}}"),
        ("primary_cak=§§ policy=security", "primary_cak=(hidden) policy=security"),
        ("api_token: §§, next", "api_token: (hidden), next"),
        ('{"key": "§§"}', '{"key": "(hidden)"}'),
        ("sonic-db-cli CONFIG_DB HDEL 'SNMP_COMMUNITY|§§' TYPE", "'SNMP_COMMUNITY|(hidden)' TYPE"),
        ('{"op": "remove", "path": "/SNMP_COMMUNITY/§§/TYPE"}', '"/SNMP_COMMUNITY/(hidden)/TYPE"'),
        ("cannot reach ldaps://admin:§§@10.0.0.1/", "ldaps://admin:(hidden)@10.0.0.1/"),
        (f"-----BEGIN {PEM}\n§§\n§§\n-----END {PEM}", f"-----BEGIN {PEM}(hidden)-----END {PEM}"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(said: str, shown: str) -> None:
    found = shown_text(said)
    assert "§" not in found
    assert HIDDEN in found
    assert shown in found


@pytest.mark.parametrize(
    "said",
    [
        "sudo: a password is required",
        "KeyError: 'PORT'",
        "Error: no such key: PORT|Ethernet0",
        'Value "lossy" does not satisfy the constraint',
        "config load -y /tmp/railweave-1.load",
        "port Ethernet0 alias=etp1, speed=400000",
        "2026-11-22T02:28:01 orchagent: NOTICE",
    ],
)
def test_what_helps_to_understand_a_fault_stays(said: str) -> None:
    assert shown_text(said) == said


@given(
    secret=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=40).map(
        lambda one: f"§{one}§"
    )
)
def test_a_secret_that_is_known_is_hidden_in_whatever_words(secret: str) -> None:
    for said in (f'Value "{secret}" is too long', f"got {secret}, which is refused", json.dumps({"value": secret})):
        assert "§" not in shown_text(said, [secret])


def test_a_short_secret_spoils_no_other_word() -> None:
    assert shown_text("the rate of a port is wrong: a", ["a", ""]) == f"the rate of {HIDDEN} port is wrong: {HIDDEN}"
