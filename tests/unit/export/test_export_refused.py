"""Names that a consumer refuses, and what an intent lacks: all at once, before anything is written."""

from pathlib import Path

import pytest
from exported import CLUSTER, cluster, source_of, text_of

from railweave import api
from railweave.errors import RefusedError, UsageError
from railweave.export.model import ExportOptions
from railweave.export.names import fnv_1a, label_value


def refusal(name: str, **options: object) -> str:
    with pytest.raises(RefusedError) as refused:
        text_of(cluster(options=ExportOptions(**options)), name)  # type: ignore[arg-type]
    first = refused.value.diagnostics[0]
    return f"{first.code} {first.where}: {first.message}; {first.fix}"


def test_a_node_name_that_slurm_does_not_accept_is_named() -> None:
    suffix = ".compute." + 60 * "x"
    assert refusal("slurm-tree", node_suffix=suffix) == (
        f"RW950 cluster.yml:2:9: node 'gpu1{suffix}': it has 73 characters, Slurm accepts 64;"
        " give a shorter --node-suffix, or rename the entry in `nodes`"
    )
    assert refusal("slurm-yaml", node_suffix=",x").startswith(
        "RW950 cluster.yml:2:9: node 'gpu1,x': Slurm accepts letters, digits, `.`, `_` and `-`"
    )


def test_a_node_name_that_kubernetes_does_not_accept_is_named() -> None:
    for name in ("node-labels", "nfd-rules", "volcano", "cidr-pools"):
        assert refusal(name, node_suffix="_X").startswith(
            "RW950 cluster.yml:2:9: node 'gpu1_X': Kubernetes accepts lower-case letters"
        )


def test_every_refused_name_is_reported_at_once() -> None:
    with pytest.raises(RefusedError) as refused:
        text_of(cluster(options=ExportOptions(node_suffix="_X", namespace="A.b")), "cidr-pools")
    assert len(refused.value.diagnostics) == 10


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        (("-bad/tier-{tier}",), "label key '-bad/tier-0': the prefix '-bad': Kubernetes accepts lower-case letters"),
        ((f"a/{64 * 'x'}", "b", "c"), "has 64 characters, Kubernetes accepts 63"),
        (("a", "b"), "2 label keys for 3 tiers"),
        (("a", "a", "b"), "2 label keys for 3 tiers"),
        (("a b{tier}",), "label key 'a b0': the name 'a b0': a Kubernetes label accepts"),
    ],
)
def test_label_keys_that_kubernetes_or_the_tiers_do_not_accept_are_named(keys: tuple[str, ...], fault: str) -> None:
    for name in ("node-labels", "nfd-rules", "kueue"):
        assert fault in refusal(name, label_keys=keys)


def test_any_keys_can_be_given() -> None:
    keys = ("example.com/rack", "example.com/pod", "example.com/room")
    text = text_of(cluster(options=ExportOptions(label_keys=keys)), "kueue")
    assert [line.split()[-1] for line in text.splitlines() if "nodeLabel" in line] == [
        *reversed(keys),
        "kubernetes.io/hostname",
    ]


def test_a_long_label_value_is_shortened_as_topograph_does() -> None:
    # Both values are test vectors of RFC 9923.
    assert fnv_1a("") == 0xCBF29CE484222325
    assert fnv_1a("foobar") == 0x85944171F73967E8
    assert label_value(63 * "a") == 63 * "a"
    assert label_value(64 * "a") == f"x{fnv_1a(64 * 'a'):x}"


def test_names_that_shortening_makes_equal_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from railweave.export.formats import node_labels

    monkeypatch.setattr(node_labels, "label_value", lambda name: name[:5])
    assert refusal("node-labels") == (
        "RW951 cluster.yml:2:9: the groups 'ai1-stripe-0' and 'ai1-stripe-1' would both be written as 'ai1-s';"
        " shorten the name of the fabric in the intent"
    )


def test_groups_of_ansible_that_would_be_equal_are_refused() -> None:
    text = CLUSTER.read_text(encoding="utf-8").replace("name: gpu\n", "name: a-b\n")
    text = text.replace("name: store\n", "name: a-b-c\n")
    assert "nodes_a_b_c" in text_of(source_of(text), "ansible")


def test_a_zone_and_a_serial_that_dns_does_not_accept_are_named() -> None:
    assert refusal("dns-zone", zone="a..b").startswith("RW950 cluster.yml:2:9: zone 'a..b': DNS accepts lower-case")
    assert refusal("dns-zone", serial=1 << 32).startswith("RW950 : serial 4294967296: DNS has numbers of 32 bits")


def test_nics_of_another_vendor_are_named() -> None:
    text = (
        CLUSTER.read_text(encoding="utf-8").replace("connectx-6-dx", "intel-e810").replace("connectx-6", "intel-e810")
    )
    with pytest.raises(RefusedError, match="configures none of the NICs for RDMA: models intel-e810"):
        text_of(source_of(text), "nic-configuration")


def test_interfaces_without_pci_addresses_are_named() -> None:
    text = CLUSTER.read_text(encoding="utf-8").replace(', pci_addresses: ["0000:41:00.0", "0000:42:00.0"]', "")
    with pytest.raises(RefusedError, match="the PCI addresses of rail0, rail1 of 'store' are unknown"):
        text_of(source_of(text), "nic-names")


def test_a_refused_format_leaves_the_earlier_file(tmp_path: Path) -> None:
    out = tmp_path / "topology.conf"
    project = api.open_project(CLUSTER)
    api.export(project, "slurm-tree", out=out)
    before = out.read_bytes()
    with pytest.raises(RefusedError):
        api.export(project, "slurm-tree", out=out, options=ExportOptions(node_suffix=" x"))
    assert out.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["topology.conf"]


def test_all_formats_are_written_or_none(tmp_path: Path) -> None:
    project = api.open_project(CLUSTER)
    with pytest.raises(RefusedError):
        api.export(project, "all", out=tmp_path / "refused", options=ExportOptions(node_suffix="_X"))
    assert not (tmp_path / "refused").exists()
    written = api.export(project, "all", out=tmp_path / "all")
    assert sorted(file.stem for file in (tmp_path / "all").iterdir()) == sorted(api.export_formats())
    assert written.without == {}


def test_an_unknown_format_and_release_get_the_nearest_one() -> None:
    project = api.open_project(CLUSTER)
    with pytest.raises(UsageError, match="no format 'slurm-trees': did you mean `slurm-tree`"):
        api.export(project, "slurm-trees")
    with pytest.raises(UsageError, match=r"no operator release '26\.11': did you mean `26\.1"):
        api.export(project, "kueue", options=ExportOptions(release="26.11"))
