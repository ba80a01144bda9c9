"""A line of a target file in a diagnostic names variables and files, and never holds what may be a secret."""

import pytest

from railweave.report.quoted_line import quoted_line


@pytest.mark.parametrize(
    "line",
    [
        "ssh: {password_env: RAILWEAVE_PASSWORD, strict: false}",
        "  passphrase_env: 'KEY_PASSPHRASE'",
        "  jump: {host: jump.example.net, key_file: ~/.ssh/fabric}",
        "  key_file: inventory/key",
        "source: addresses",
    ],
)
def test_the_names_of_variables_and_files_are_shown(line: str) -> None:
    assert quoted_line(["ssh:", line]) == line


@pytest.mark.parametrize(
    "line",
    [
        "secrets: {BGP: {env: BGP_PASSWORD}, BROKER: {file: /run/broker}}",
        "secrets:  # of the underlay",
        "  BGP:",
        "  BGP: {env: BGP_PASSWORD}",
        "  BGP: {command: [pass, show, fabric/bgp]}",
        "    file: secrets/bgp",
    ],
)
def test_the_sources_of_secrets_are_shown(line: str) -> None:
    assert quoted_line(["secrets:", line]) == line


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("ssh: {password: §§}", "ssh: {password: (hidden)}"),
        ("ssh: {password_env: '§ §'}", "ssh: {password_env: '(hidden)'}"),
        ("ssh: {password_env: hunter§, strict: false}", "ssh: {password_env: (hidden), strict: false}"),
        ("ssh: {password_env: [§§]}", "ssh: {password_env: (hidden)}"),
        ("ssh: {password_enf: HUNTER§}", "ssh: {password_enf: (hidden)}"),
        ("  key_file: §§", "  key_file: (hidden)"),
    ],
)
def test_a_secret_in_place_of_a_name_is_hidden(line: str, shown: str) -> None:
    assert quoted_line(["ssh:", line]) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("secrets: §§", "secrets: (hidden)"),
        ("secrets: {BGP: §§}", "secrets: (hidden)"),
        ("secrets: {PW: {env: PW}, BGP: §§}", "secrets: (hidden)"),
        ("secrets: {PW: {env: PW, value: §§}}", "secrets: (hidden)"),
        ("  BGP: §§", "  BGP: (hidden)"),
        ("  BGP: {value: §§}", "  BGP: (hidden)"),
        ("    value: §§", "    value: (hidden)"),
        ("    env: §§", "    env: (hidden)"),
        ("  - §§", "(hidden)"),
        ("    command: [curl, 'https://user:§§@vault.example.net']", "(hidden)"),
    ],
)
def test_a_secret_in_place_of_its_source_is_hidden(line: str, shown: str) -> None:
    quoted = quoted_line(["secrets:", line])
    assert quoted is not None
    assert "§" not in quoted
    assert shown in quoted


def test_a_line_of_overrides_is_not_quoted() -> None:
    assert quoted_line(["overrides:", "  all:", "    TACPLUS: {global: {x: y}}"]) is None
