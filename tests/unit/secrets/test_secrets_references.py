"""A reference to a secret is refused wherever railweave would show what it resolves to."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.checks.config import check_own
from railweave.checks.intent import check_intent
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.secrets import is_secret
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.secret_rows import resolved
from railweave.templates import find_templates

ROOT = Path(__file__).resolve().parents[3]
INTENT = (ROOT / "intent/lab-4.yml").read_text(encoding="utf-8")
REFERENCE = "{secret:NAME}"
VALUE = "Mark-9f3c-of-the-site"


def errors_of(rows: object) -> list[Diagnostic]:
    intent = load_intent_text(f"{INTENT}\noverrides: {json.dumps({'leaf': rows})}\n", "i.yml")
    return [one for one in check_intent(intent) if one.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"SYSLOG_SERVER": {REFERENCE: {}}}, f"key `{REFERENCE}` of `SYSLOG_SERVER` cannot hold a secret"),
        ({"SNMP_COMMUNITY": {REFERENCE: {"TYPE": "RO"}}}, "of `SNMP_COMMUNITY` cannot hold a secret"),
        ({"VENDOR_TOKEN": {f"x|{REFERENCE}": {"expiry": "3"}}}, "of `VENDOR_TOKEN` cannot hold a secret"),
        ({"TACPLUS": {"global": {f"a{REFERENCE}": "x"}}}, "the name of field"),
        ({"TACPLUS": {"global": {"timeout": REFERENCE}}}, "field `timeout` of `TACPLUS` cannot hold a secret"),
        ({"TACPLUS": {"global": {"passkey": [REFERENCE]}}}, "cannot hold a secret in a list"),
        ({f"A{REFERENCE}": {"x": {}}}, "the name of table"),
    ],
)
def test_a_reference_that_would_be_shown_is_refused_at_its_place(rows: object, said: str) -> None:
    found = [one for one in errors_of(rows) if said in one.message]
    assert [one.code for one in found] == ["RW111"]
    assert found[0].where.line
    assert found[0].fix


@pytest.mark.parametrize("field", ["passkey", "priv_pass", "bindpw", "auth_password"])
def test_a_reference_in_a_secret_field_is_taken(field: str) -> None:
    assert errors_of({"VENDOR": {"x": {field: REFERENCE}}}) == []


MISSPELLED = ["{Secret:NAME}", "{ secret:NAME}", "{secret:NAME", "{secret:9 lives}", "{secrets:NAME}", "{secret:}",
              "{secret=NAME}", "x{SECRET: NAME }"]  # fmt: skip


@pytest.mark.parametrize("text", MISSPELLED)
def test_what_only_looks_like_a_reference_is_refused_and_not_sent(text: str, tmp_path: Path) -> None:
    (found,) = errors_of({"TACPLUS": {"global": {"passkey": text}}})
    assert found.code == "RW111"
    assert "begins a reference to a secret that cannot be read" in found.message
    (line,) = own_findings(tmp_path, f"password {text}")
    assert (line.severity, line.message.partition("` ")[2]) == (
        Severity.ERROR,
        "begins a reference to a secret that cannot be read",
    )


NAMES = st.sampled_from(
    ["TACPLUS", "SYSLOG_SERVER", "SNMP_COMMUNITY", "NTP_KEY", "VENDOR", "VENDOR_TOKEN", "FEATURE_X"]
)
FIELDS = st.sampled_from(["passkey", "timeout", "value", "priv_pass", "TYPE", "a"])
MAYBE = st.sampled_from(["{}", REFERENCE, f"x{REFERENCE}y"])


@given(table=NAMES, key=MAYBE, field=FIELDS, named=MAYBE, value=MAYBE)
def test_only_what_check_takes_is_ever_filled_in(table: str, key: str, field: str, named: str, value: str) -> None:
    """A reference of an intent that check accepts is filled in, and that of no other place."""
    name = named.format(field) if named == "{}" else named
    rows = {table: {key: {name: value}}}
    refused = any("cannot hold a secret" in one.message for one in errors_of(rows))
    fabric = fabric_of(f"{INTENT}\noverrides: {json.dumps({'leaf': rows})}\n")
    leaf = next(one for one in fabric.switches if one.tier.name == "leaf")
    filled = resolved(Configurator(fabric, find_templates()).device(leaf), {"NAME": VALUE})
    held = {(row.table, row.key, field) for row in filled.rows for field, text in row.fields.items() if VALUE in text}
    assert [place for place in held if not is_secret(place[0], place[2])] == []
    assert VALUE not in "".join(row.key + "".join(row.fields) for row in filled.rows)
    if not refused and "secret" in value:
        assert held


def fabric_of(text: str) -> Fabric:
    made = design(load_intent_text(text, "i.yml"), load_catalog()).fabric
    assert made is not None
    return made


def own_findings(folder: Path, line: str, code: str = "RW405") -> list[Diagnostic]:
    template = folder / "templates/frr/frr.conf.j2"
    template.parent.mkdir(parents=True)
    shutil.copy(ROOT / "templates/frr/frr.conf.j2", template)
    with template.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    intent = load_intent_text(INTENT, "i.yml")
    return [one for one in check_own(fabric_of(INTENT), intent.where, find_templates(folder)) if one.code == code]


@pytest.mark.parametrize(
    "line",
    [
        "! {secret:NAME}",
        "hostname {secret:NAME}",
        " neighbor SPINES description {secret:NAME}",
        " neighbor {secret:NAME} password x",
        " neighbor SPINES description the token {secret:NAME}",
        "snmp-server community {secret:NAME}",
        "{% set opened = '{' %}ip route {{ opened }}secret:NAME} blackhole",
    ],
)
def test_a_line_of_frr_that_takes_no_secret_is_refused(line: str, tmp_path: Path) -> None:
    (found,) = own_findings(tmp_path, line)
    assert found.severity is Severity.ERROR
    assert "cannot hold a secret: railweave shows it" in found.message
    assert found.where.file.endswith("frr.conf.j2")
    assert bool(found.where.line) is ("set opened" not in line)
    assert found.devices


@pytest.mark.parametrize(
    ("line", "shown", "abbreviations"),
    [
        ("route-m RM per 10", "route-map RM permit 10", "`route-m` and `per`"),
        (f"router bgp 65001\n neighbor SPINES passw {VALUE}", "neighbor SPINES password (hidden)", "`passw`"),
    ],
)
def test_an_abbreviated_line_of_frr_is_refused_in_full_words_without_its_secret(
    line: str, shown: str, abbreviations: str, tmp_path: Path
) -> None:
    (diagnostic,) = own_findings(tmp_path, line, "RW407")
    assert diagnostic.message == f"FRR command `{shown}` is abbreviated: {abbreviations}"
    template = (tmp_path / "templates/frr/frr.conf.j2").read_text(encoding="utf-8").splitlines()
    assert diagnostic.where.line == len(template)
    assert VALUE not in str(diagnostic)


@pytest.mark.parametrize(
    "line", [" neighbor SPINES password {secret:NAME}", "password {secret:NAME}", "key-string {secret:NAME}"]
)
def test_a_line_of_frr_that_takes_a_secret_is_accepted(line: str, tmp_path: Path) -> None:
    assert own_findings(tmp_path, line) == []
