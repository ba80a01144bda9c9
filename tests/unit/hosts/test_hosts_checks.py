"""What an intent may say of its nodes."""

from collections.abc import Callable

import pytest

from railweave.checks.intent import check_intent
from railweave.checks.registry import all_rules
from railweave.diagnostics import Severity
from railweave.errors import RefusedError
from railweave.fabric.policy import NetworkBackend
from railweave.intent.load import load_intent_text

Write = Callable[..., str]
FOUR = ", ".join(f'"0000:{slot}:00.0"' for slot in ("1a", "3c", "9a", "bc"))
LOSSY = """
traffic_classes:
  - {name: roce, role: rdma, dscp: default, priority: 3, share: 90}
  - {name: best-effort, role: bulk, dscp: [0], priority: 0, share: 10}
"""


def findings(text: str) -> list[tuple[str, str, str]]:
    found = check_intent(load_intent_text(text, "test.yml"))
    assert all(one.code in all_rules() for one in found)
    return [
        (one.code, one.severity.value, one.where.path)
        for one in found
        if one.code.startswith("RW80") or one.code == "N-4"
    ]


def test_defaults_are_unmanaged_networkd_nodes_of_their_nics_vendor(intent_text: Write) -> None:
    hosts = load_intent_text(intent_text(), "test.yml").policies.hosts
    assert (hosts.vendor, hosts.manage, hosts.network, hosts.frontend) == (None, False, NetworkBackend.NETWORKD, None)
    assert findings(intent_text()) == []


def test_everything_can_be_said(intent_text: Write) -> None:
    text = intent_text(rest="hosts: {vendor: broadcom, manage: true, network: netplan, frontend: eno1}")
    hosts = load_intent_text(text, "test.yml").policies.hosts
    assert (hosts.vendor, hosts.manage, hosts.network, hosts.frontend) == (
        "broadcom",
        True,
        NetworkBackend.NETPLAN,
        "eno1",
    )


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ({"rest": "hosts: {vendor: broadcom}"}, ("RW801", "error", "hosts.vendor")),
        ({"nics": ', pci_addresses: ["0000:1a:00.0"]'}, ("RW803", "error", "nodes[0].nics.pci_addresses")),
        (
            {"nics": ", rdma_devices: [mlx5_0, mlx5_1, mlx5_2, mlx5_2]"},
            ("RW803", "error", "nodes[0].nics.rdma_devices"),
        ),
        ({"rest": "hosts: {manage: true}"}, ("RW804", "warning", "nodes[0].nics")),
        ({"rest": LOSSY}, ("N-4", "error", "traffic_classes[0].dscp")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_does_not_fit_is_told_at_its_place(
    intent_text: Write, parts: dict[str, str], wanted: tuple[str, str, str]
) -> None:
    assert findings(intent_text(**parts)) == [wanted]


def test_a_nic_without_a_pack_is_told_where_its_nodes_are_managed(
    intent_text: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("railweave.catalog.load.Catalog.vendor_of", lambda catalog, nic: None)
    nics = f", pci_addresses: [{FOUR}]"
    assert findings(intent_text(nics=nics, rest="hosts: {manage: true}")) == [
        ("RW802", "warning", "nodes[0].nics.model")
    ]
    assert findings(intent_text(nics=nics)) == []


def test_a_vendor_without_a_pack_is_told_by_name(intent_text: Write) -> None:
    with pytest.raises(RefusedError) as refused:
        load_intent_text(intent_text(rest="hosts: {vendor: nvidea}"), "test.yml")
    (found,) = refused.value.diagnostics
    assert (found.code, found.severity) == ("RW014", Severity.ERROR)
    assert "did you mean `nvidia`?" in found.fix


def test_a_word_that_is_no_pci_address_is_refused(intent_text: Write) -> None:
    with pytest.raises(RefusedError, match=r"nodes\[0\]\.nics\.pci_addresses\[0\]"):
        load_intent_text(intent_text(nics=', pci_addresses: ["slot 3"]'), "test.yml")
