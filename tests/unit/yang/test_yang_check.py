"""The check of a fabric: violations become diagnostics that name row, words, devices, releases and the way out."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.intent.load import load_intent_text
from railweave.templates import find_templates
from railweave.yang.check import check_yang, whole_document
from railweave.yang.schema import Failure, RowSchema, SchemaIndex, TableSchema

LAB = """
fabric: lab
workload: {kind: inference}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}}
topology:
  rails: 2
  stripe: 4
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {model: sonic-vs, count: 2, downlink_speed: 100G, uplink_speed: 100G}
  spine: {model: sonic-vs, count: 2}
"""


class Everything(frozenset[str]):
    """A set that has every name in it."""

    def __contains__(self, name: object) -> bool:
        return True


class EveryTable(dict[str, TableSchema]):
    """An index that takes every table but UNKNOWN, with rows of up to three key parts and any field."""

    def get(self, name: str, default: object = None) -> TableSchema | None:  # type: ignore[override]
        if name == "UNKNOWN":
            return None
        keys = ("a", "b", "c")
        lists = tuple(RowSchema(f"{name}_{n}", keys[:n], Everything(), frozenset({"ecmp_hash"})) for n in (1, 2, 3))
        return TableSchema(f"module-{name}", "urn:x", lists, {})


@dataclass
class Judge:
    """Models that refuse what a rule says of the XML."""

    name: str
    refuses: str = ""
    path: str = ""
    words: str = "not allowed"
    index: SchemaIndex = field(default_factory=EveryTable)

    def first_failure(self, xml: str) -> Failure | None:
        return Failure(self.words, self.path) if self.refuses and self.refuses in xml else None


def check(extra: str, *releases: Judge) -> tuple[Diagnostic, ...]:
    intent = load_intent_text(LAB + extra, "lab.yml")
    fabric = design(intent, load_catalog()).fabric
    assert fabric is not None
    return check_yang(fabric, releases, find_templates(), intent.where)


def test_a_fabric_that_all_releases_take_has_no_findings() -> None:
    assert check("", Judge("202305"), Judge("202505")) == ()


def test_one_fault_of_many_devices_and_releases_is_told_once() -> None:
    path = "/m:m/DEVICE_METADATA/DEVICE_METADATA_1[a='localhost']/docker_routing_config_mode"
    releases = [Judge(name, "<docker_routing_config_mode>split-unified", path) for name in ("202305", "202505")]
    (found,) = check("", *releases)
    assert (found.code, found.severity) == ("RW411", Severity.ERROR)
    assert found.message == (
        "DEVICE_METADATA|localhost|docker_routing_config_mode 'split-unified': "
        "not allowed (YANG models: 202305, 202505)"
    )
    assert set(found.devices) == {"lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2"}
    assert "railweave explain" in found.fix


def test_a_fault_of_an_override_points_into_the_intent() -> None:
    path = "/m:m/SYSLOG_SERVER/SYSLOG_SERVER_1[a='10.9.9.9']/port"
    extra = 'overrides:\n  leaf:\n    SYSLOG_SERVER: {"10.9.9.9": {port: "99999"}}\n'
    (found,) = check(extra, Judge("202505", "<port>99999", path))
    assert found.where.path == "overrides.leaf.SYSLOG_SERVER"
    assert found.where.line == LAB.count("\n") + 3
    assert found.devices == ("lab-leaf1", "lab-leaf2")
    assert "override" in found.fix


def test_a_secret_that_is_refused_is_not_shown() -> None:
    words = 'Value "s3krit#" does not satisfy the constraint'
    field_fault = Judge("202505", "<passkey>s3krit#", "/m:m/RADIUS/RADIUS_1[a='global']/passkey", words)
    (found,) = check("overrides: {leaf: {RADIUS: {global: {passkey: 's3krit#'}}}}\n", field_fault)
    assert found.message.startswith('RADIUS|global|passkey (hidden): Value "(hidden)" does not satisfy')
    key_fault = Judge("202505", "<a>s3krit#", "/m:m/SNMP_COMMUNITY/SNMP_COMMUNITY_1[a='s3krit#']", words)
    (found,) = check("overrides: {leaf: {SNMP_COMMUNITY: {'s3krit#': {TYPE: RO}}}}\n", key_fault)
    assert found.message.startswith('SNMP_COMMUNITY|(hidden): Value "(hidden)" does not satisfy')


def test_a_secret_key_that_a_fault_of_another_field_quotes_is_not_shown() -> None:
    words = "Leaf TYPE of list entry with key s3krit# is no access type"
    path = "/m:m/SNMP_COMMUNITY/SNMP_COMMUNITY_1[a='s3krit#']/TYPE"
    extra = "overrides: {leaf: {SNMP_COMMUNITY: {'s3krit#': {TYPE: XX}}}}\n"
    (diagnostic,) = check(extra, Judge("202505", "<TYPE>XX", path, words))
    assert "s3krit" not in diagnostic.message
    assert diagnostic.message.startswith("SNMP_COMMUNITY|(hidden)|TYPE ")


def test_a_table_without_a_model_is_a_warning() -> None:
    (found,) = check("overrides: {lab-spine1: {UNKNOWN: {x: {}}}}\n", Judge("202505"))
    assert (found.code, found.severity, found.devices) == ("RW412", Severity.WARNING, ("lab-spine1",))


def test_a_device_that_cannot_be_configured_is_passed_over() -> None:
    extra = "overrides: {lab-leaf1: {PORT: {Ethernet0: {mtu: '9000'}}}}\n"
    path = "/m:m/DEVICE_METADATA/DEVICE_METADATA_1[a='localhost']/hostname"
    found = check(extra, Judge("202505", "<hostname>", path))
    assert {name for one in found for name in one.devices} == {"lab-leaf2", "lab-spine1", "lab-spine2"}


@pytest.mark.parametrize("rendered", [{}, {"DEVICE_METADATA": {"localhost": {"hostname": "x"}}}])
def test_the_rows_of_the_switch_itself_complete_a_document(rendered: dict[str, dict[str, dict[str, str]]]) -> None:
    whole = whole_document(rendered, "x86_64-some-platform")
    metadata = whole["DEVICE_METADATA"]["localhost"]
    assert metadata["platform"] == "x86_64-some-platform"
    assert metadata["synchronous_mode"] == "enable"
    assert metadata.get("hostname") == rendered.get("DEVICE_METADATA", {}).get("localhost", {}).get("hostname")


def test_a_rendered_value_wins_over_the_switchs_own() -> None:
    rendered: dict[str, Any] = {
        "DEVICE_METADATA": {"localhost": {"synchronous_mode": "disable"}},
        "MGMT_PORT": {"eth0": {}},
    }
    whole = whole_document(rendered, "p")
    assert whole["DEVICE_METADATA"]["localhost"]["synchronous_mode"] == "disable"
    assert whole["MGMT_PORT"]["eth0"] == {}
