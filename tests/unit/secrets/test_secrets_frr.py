"""FRR lines that hold a secret, as people may see them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.secrets import HIDDEN, is_hidden, secret_values, shown_frr
from railweave.sonic.frr.lines import FrrEntry, negated

COMMANDS = (
    "neighbor 10.0.0.1 password",
    "neighbor FABRIC password",
    "password",
    "password 8",
    "enable password",
    "enable password 8",
    "key-string",
    "ip ospf authentication-key",
    "ip ospf message-digest-key 1 md5",
    "area 0.0.0.0 virtual-link 10.0.0.1 authentication-key",
    "area 0.0.0.0 virtual-link 10.0.0.1 message-digest-key 3 md5",
    "ipv6 ospf6 authentication key-id 1 hash-algo hmac-sha-256 key",
    "isis password md5",
    "isis password clear",
    "area-password clear",
    "domain-password md5",
    "ip rip authentication string",
    "ip nhrp authentication",
    "tcp-md5-auth",
    "neighbor 10.0.0.1 tcp-ao 1 sha-1",
    "msdp peer 10.0.0.1 password",
    "vendor pre-shared-key",
    "vendor shared-secret",
    "vendor api-token",
)


@pytest.mark.parametrize("command", COMMANDS)
@given(secret=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40), words=st.booleans())
def test_whatever_follows_the_word_for_a_secret_is_hidden(command: str, secret: str, words: bool) -> None:
    secret = f"§{secret}"
    shown = shown_frr(f"router bgp 1\n {command} {secret}{' and §more' if words else ''}\n neighbor 10.0.0.1 bfd\n")
    assert "§" not in shown
    assert is_hidden(shown.splitlines()[1])
    assert shown.startswith("router bgp 1\n ")
    assert shown.endswith("\n neighbor 10.0.0.1 bfd\n")
    assert shown_frr(shown) == shown


@pytest.mark.parametrize("command", COMMANDS)
def test_a_secret_that_begins_like_the_mark_is_hidden_too(command: str) -> None:
    assert shown_frr(f"{command} (hidden)§").endswith(f" {HIDDEN}")


@pytest.mark.parametrize(
    "line",
    [
        "service password-encryption",
        "key chain underlay",
        "key 1",
        "neighbor 10.0.0.1 tcp-ao keychain underlay",
        "ip ospf authentication message-digest",
        "ip ospf authentication key-chain underlay",
        "ipv6 ospf6 authentication keychain underlay",
        "cryptographic-algorithm hmac-sha-256",
        "neighbor 10.0.0.1 send-community",
        "bgp community-list standard drained permit 65535:0",
        "set community 65535:0 additive",
        "match community drained",
        "no neighbor 10.0.0.1 password",
        "bgp router-id 10.0.0.1",
    ],
)
def test_a_line_without_a_secret_is_shown_as_it_stands(line: str) -> None:
    assert shown_frr(line) == line


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("neighbor 10.0.0.1 password §", "no neighbor 10.0.0.1 password"),
        ("key-string §", "no key-string"),
        ("ip ospf authentication-key § 10.0.0.1", "no ip ospf authentication-key"),
        ("ip ospf message-digest-key 1 md5 §", "no ip ospf message-digest-key 1"),
        ("isis password md5 §", "no isis password"),
        ("area-password clear § authenticate snp validate", "no area-password"),
    ],
)
def test_a_secret_is_removed_without_its_text(line: str, command: str) -> None:
    assert negated(line) == command
    assert negated(FrrEntry("", line).shown) == command


def test_the_secrets_of_a_text_can_be_asked_for() -> None:
    assert "s3cret" in secret_values({"bgpraw": "interface Ethernet0\n ip ospf message-digest-key 1 md5 s3cret\n"})
    assert "s3cret" in secret_values({"bgpraw": "router isis 1\n area-password md5 s3cret\n"})
