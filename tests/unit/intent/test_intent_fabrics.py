"""A file of several fabrics is one intent a fabric: each as if it stood alone, with the places of the file."""

import json
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import yaml
from intent_schema import validator

from railweave.api.design.analysis import check, render
from railweave.api.design.intent import design_text, designed_at, gather_text
from railweave.api.project import Project, open_project
from railweave.checks.intent import check_intent
from railweave.cli.options import open_compared
from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError, UsageError
from railweave.fabric.policy import NetworkBackend
from railweave.hosts.places import InstalledFile, Places
from railweave.hosts.render import HostRenderer
from railweave.intent.load import load_intent_text
from railweave.intent.model import Part
from railweave.templates import find_templates

TEXT = """\
fabric: pod1
workload: {kind: pretraining, gpus: 64}
nodes:
  - name: gpu
    count: 8
    gpus: 8
    nics:
      - {fabric: backend, count: 8, speed: 400G, model: connectx-7}
      - {fabric: storage, count: 2, speed: 400G, model: connectx-7}
  - name: store
    role: storage
    count: 4
    gpus: 0
    nics:
      - {fabric: storage, count: 2, speed: 400G, model: connectx-7, first_stripe: 1}
fabrics:
  backend:
    topology:
      leaf: {model: nokia-ixr7220-h4-64d}
      spine: {model: nokia-ixr7220-h4-64d}
  storage:
    topology:
      shape: rack-aligned
      oversubscription: "3:1"
      stripe: 8
      leaf: {model: nvidia-sn4700}
      spine: {model: nvidia-sn4700}
    addressing:
      loopbacks: 10.254.0.0/16
      links: 10.128.0.0/11
      hosts: 10.96.0.0/11
      asn: {leaf: 4220000000, spine: 4200101000}
"""

ALONE = """\
fabric: pod1-storage
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 8, gpus: 8, nics: {count: 2, speed: 400G, model: connectx-7}}
  - {name: store, role: storage, count: 4, gpus: 0, first_stripe: 1, nics: {count: 2, speed: 400G, model: connectx-7}}
topology:
  shape: rack-aligned
  oversubscription: "3:1"
  stripe: 8
  leaf: {model: nvidia-sn4700}
  spine: {model: nvidia-sn4700}
addressing:
  loopbacks: 10.254.0.0/16
  links: 10.128.0.0/11
  hosts: 10.96.0.0/11
  asn: {leaf: 4220000000, spine: 4200101000}
"""


def told(found: Diagnostic) -> str:
    return f"{found.where.line}:{found.where.column} {found.where.path} {found.code} {found.message} / {found.fix}"


def refused(text: str, name: str = "f.yml#storage") -> list[str]:
    with pytest.raises(RefusedError) as caught:
        load_intent_text(text, name)
    return [told(one) for one in caught.value.diagnostics]


def met(text: str, name: str) -> list[str]:
    return [told(one) for one in check_intent(load_intent_text(text, name)) if one.code == "RW127"]


def test_a_fabric_of_several_is_designed_as_if_it_stood_alone() -> None:
    fabric, alone = design_text(TEXT, "f.yml#storage").fabric, design_text(ALONE, "f.yml").fabric
    for part in ("switches", "links", "host_blocks", "tiers", "policies"):
        assert getattr(fabric, part) == getattr(alone, part)
    for part in ("fabric", "nodes", "leaves", "spines", "leaf", "links", "oversubscription", "limits", "room"):
        assert getattr(fabric.sizing, part) == getattr(alone.sizing, part)
    assert [(one.name, one.stripe, one.place) for one in fabric.hosts] == [
        (one.name, one.stripe, one.place) for one in alone.hosts
    ]


def test_names_addresses_and_as_numbers_of_the_fabrics_are_apart() -> None:
    fabrics = [design_text(TEXT, f"f.yml#{name}").fabric for name in ("backend", "storage")]
    for identity in ("name", "loopback", "asn"):
        one, other = ({getattr(switch, identity) for switch in fabric.switches} for fabric in fabrics)
        assert one.isdisjoint(other)
    assert {host.name for host in fabrics[0].hosts} < {host.name for host in fabrics[1].hosts}


def test_places_and_paths_are_those_of_the_file() -> None:
    intent = load_intent_text(TEXT, "f.yml#storage")
    at = {path: intent.where(path) for path in ("topology.leaf.model", "nodes[1].nics.speed", "nodes[1].first_stripe")}
    assert {path: (where.line, where.column, where.path) for path, where in at.items()} == {
        "topology.leaf.model": (26, 21, "fabrics.storage.topology.leaf.model"),
        "nodes[1].nics.speed": (15, 44, "nodes[1].nics[0].speed"),
        "nodes[1].first_stripe": (15, 83, "nodes[1].nics[0].first_stripe"),
    }
    assert intent.file == "f.yml"
    assert intent.part == Part("storage", 1, {"gpu": 8, "store": 0}, frozenset())


def test_keys_of_the_top_level_hold_where_a_fabric_does_not_state_them() -> None:
    text = TEXT + "    mtu: {fabric: 4200, hosts: 4000}\nmtu: {fabric: 9000, hosts: 8900}\n"
    mtus = [load_intent_text(text, f"f.yml#{name}").policies.mtu.fabric_bytes for name in ("backend", "storage")]
    assert mtus == [9000, 4200]


def test_each_fabric_has_classes_of_its_own() -> None:
    lossy = "{name: roce, role: rdma, dscp: [26], transport: roce-lossy, priority: 3, share: 90}"
    others = """
      - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
      - {name: rest, role: bulk, dscp: default, priority: 0, share: 10}
"""
    text = TEXT.replace("  backend:\n", f"  backend:\n    traffic_classes:\n      - {lossy}{others}")
    backend, storage = (design_text(text, f"f.yml#{name}").fabric for name in ("backend", "storage"))
    assert [traffic.is_lossy_rdma for traffic in backend.policies.classes] == [True, False, False]
    assert [traffic.lossless for traffic in storage.policies.classes] == [True, False, False]
    contradiction = text.replace("transport: roce-lossy", "lossless: true, transport: roce-lossy")
    found = check_intent(load_intent_text(contradiction, "f.yml#backend"))
    (finding,) = [one for one in found if one.code == "RW133"]
    assert finding.where.path == "fabrics.backend.traffic_classes[0].transport"


def test_the_gpus_of_the_cluster_are_checked_in_fabrics_with_all_nodes_only() -> None:
    apart = TEXT.replace("      - {fabric: storage, count: 2, speed: 400G, model: connectx-7}\n", "")
    assert load_intent_text(TEXT, "f.yml#storage").workload.gpus == 64
    assert load_intent_text(apart, "f.yml#storage").workload.gpus is None


def test_a_fabric_may_keep_a_name_of_its_own() -> None:
    text = TEXT.replace("  backend:\n", "  backend:\n    fabric: pod1\n")
    assert load_intent_text(text, "f.yml#backend").fabric == "pod1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("f.yml", "f.yml holds 2 fabrics (backend, storage): name one with --fabric NAME"),
        ("f.yml#stor", "f.yml has no fabric 'stor'; did you mean storage? (fabrics: backend, storage)"),
        ("f.yml#x", "f.yml has no fabric 'x' (fabrics: backend, storage)"),
    ],
)
def test_a_fabric_has_to_be_named(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_intent_text(TEXT, name)
    assert str(caught.value) == message


def test_a_file_of_one_fabric_takes_no_name() -> None:
    with pytest.raises(UsageError) as caught:
        load_intent_text(ALONE, "f.yml#storage")
    assert str(caught.value) == "f.yml holds one fabric, `pod1-storage`: omit --fabric storage"


STRUCTURE = {
    "a-top-level-topology": (
        ("workload:", "topology: {}\nworkload:"),
        "2:1 topology RW010 unknown key `topology` beside `fabrics` / `topology` belongs in each of `fabrics`",
    ),
    "no-topology": (
        ("    topology:\n      shape", "    bgp:\n      shape"),
        "21:3 fabrics.storage RW011 key `topology` is missing in `fabrics.storage`"
        " / add `topology`: the shape of the fabric",
    ),
    "no-fabric-of-a-group": (
        ("{fabric: backend, ", "{"),
        "8:9 nodes[0].nics[0] RW011 key `fabric` is missing in `nodes[0].nics[0]`"
        " / add `fabric`: `backend` or `storage`",
    ),
    "an-unknown-fabric": (
        ("{fabric: backend", "{fabric: backendd"),
        "8:18 nodes[0].nics[0].fabric RW014 nodes[0].nics[0].fabric: unknown fabric `backendd` / did you mean `backend`?",  # noqa: E501
    ),
    "a-second-group": (
        ("model: connectx-7, first_stripe: 1}", "first_stripe: 1}\n      - {fabric: storage, count: 1, speed: 400G}"),
        "16:18 nodes[1].nics[1].fabric RW016 nodes[1].nics[1]: a second group in `storage`"
        " / keep one group of NICs a fabric",
    ),
    "no-list-of-groups": (
        ("\n      - {fabric: storage, count: 2, speed: 400G, model: connectx-7, first_stripe: 1}", " {count: 2}"),
        "14:5 nodes[1].nics RW012 nodes[1].nics: expected a list, as there are several fabrics"
        " / write one group a fabric, like `- {fabric: backend, count: 8, speed: 400G}`",
    ),
    "a-stripe-beside-the-groups": (
        ("    role: storage", "    first_stripe: 1\n    role: storage"),
        "11:5 nodes[1].first_stripe RW010 unknown key `first_stripe` in `nodes[1]`"
        " / `first_stripe` belongs in the groups of `nodes[1].nics`, each in its fabric",
    ),
    "nodes-of-a-fabric": (
        ("  backend:\n", "  backend:\n    nodes: []\n"),
        "18:5 fabrics.backend.nodes RW010 unknown key `nodes` in `fabrics.backend`"
        " / `nodes` belongs in the top level; its `nics` name the fabrics",
    ),
    "a-fabric-without-nodes": (
        ("fabrics:\n", "fabrics:\n  oob: {topology: {leaf: {model: nvidia-sn4700}, spine: {model: nvidia-sn4700}}}\n"),
        "17:3 fabrics.oob RW016 fabric `oob` has no nodes"
        " / add a group `{fabric: oob, …}` to the `nics` of a node, or leave the fabric out",
    ),
    "a-mistyped-key": (
        ("      stripe: 8", "      stripes: 8"),
        "25:7 fabrics.storage.topology.stripes RW010 unknown key `stripes` in `topology` / did you mean `stripe`?",
    ),
    "a-mistake-of-the-top-level-once": (
        ("kind: pretraining", "kind: training"),
        "2:18 workload.kind RW014 workload.kind: `training` is not a valid kind of workload"
        " / did you mean `pretraining`? write pretraining, fine-tuning, inference or mixed",
    ),
}


@pytest.mark.parametrize("case", STRUCTURE)
def test_a_division_that_is_not_clear_is_refused(case: str) -> None:
    (old, new), expected = STRUCTURE[case]
    assert old in TEXT
    assert refused(TEXT.replace(old, new, 1)) == [expected]


@pytest.mark.parametrize("fabrics", ["[]", "{}", "backend"])
def test_fabrics_are_a_mapping(fabrics: str) -> None:
    text = TEXT[: TEXT.index("fabrics:\n")] + f"fabrics: {fabrics}\n"
    (found,) = refused(text)
    assert " fabrics RW012 fabrics: expected a mapping, got " in found


MET = {
    "pools": (
        ("hosts: 10.96.0.0/11", "hosts: 10.32.0.0/12"),
        "31:14 fabrics.storage.addressing.hosts RW127 the pool of hosts (10.32.0.0/12) of pod1-storage overlaps that"
        " of hosts (10.32.0.0/11) of pod1-backend / state `addressing.hosts: 10.96.0.0/11` for pod1-storage",
    ),
    "pools-of-two-kinds": (
        ("loopbacks: 10.254.0.0/16", "loopbacks: 10.33.0.0/16"),
        "29:18 fabrics.storage.addressing.loopbacks RW127 the pool of loopbacks (10.33.0.0/16) of pod1-storage overlaps"
        " that of hosts (10.32.0.0/11) of pod1-backend / state `addressing.loopbacks: 10.254.0.0/16` for pod1-storage",
    ),
    "as-numbers": (
        ("leaf: 4220000000", "leaf: 4210000007"),
        "32:19 fabrics.storage.addressing.asn.leaf RW127 the AS numbers of the leaf tier of pod1-storage, 4210000007 to"
        " 4210000008, meet those of the leaf tier of pod1-backend, 4210000000 to 4210000007"
        " / state `addressing.asn.leaf: 4220000000` for pod1-storage",
    ),
    "as-numbers-of-a-tier": (
        ("spine: 4200101000", "spine: 4200001000"),
        "32:38 fabrics.storage.addressing.asn.spine RW127 the AS numbers of the spine tier of pod1-storage, 4200001000,"
        " meet those of the spine tier of pod1-backend, 4200001000"
        " / state `addressing.asn.spine: 4200101000` for pod1-storage",
    ),
    "names": (
        ("  storage:\n", "  storage:\n    fabric: pod1-backend\n"),
        "22:13 fabrics.storage.fabric RW127 two fabrics are named pod1-backend: their switches would have the same"
        " names"
        " / give one of them another name with `fabric`",
    ),
}


@pytest.mark.parametrize("case", MET)
def test_what_two_fabrics_share_is_refused_with_the_place_in_both(case: str) -> None:
    (old, new), expected = MET[case]
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    assert met(text, "f.yml#storage") == [expected]
    (other,) = met(text, "f.yml#backend")
    assert " fabrics.backend RW127 " in other
    with pytest.raises(RefusedError):
        design_text(text, "f.yml#backend")


def test_a_reserve_of_as_numbers_counts() -> None:
    text = TEXT.replace("leaf: 4220000000", "leaf: 4210000100")
    assert met(text, "f.yml#backend") == []
    reserved = text.replace("    topology:\n      leaf", "    topology:\n      reserve: {leaves: 128}\n      leaf", 1)
    (found,) = met(reserved, "f.yml#backend")
    assert "4210000000 to 4210000127, meet those of the leaf tier of pod1-storage, 4210000100 to 4210000101" in found


def test_sound_fabrics_have_no_error() -> None:
    for name in ("backend", "storage"):
        found = gather_text(TEXT, f"f.yml#{name}")
        assert [one for one in found.diagnostics if one.severity == "error"] == []


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("intent").mkdir()
    Path("intent/cluster.yml").write_text(TEXT)
    return Path("intent/cluster.yml")


def test_check_looks_at_all_fabrics_where_none_is_named(project: Path) -> None:
    named = [check(open_project(fabric=name)).diagnostics for name in ("backend", "storage")]
    assert set(check(open_project()).diagnostics) == {*named[0], *named[1]}


def test_the_files_of_a_fabric_hold_its_own_interfaces_of_all_its_nodes(project: Path, tmp_path: Path) -> None:
    done = render(open_project(fabric="storage"), tmp_path / "out")
    assert done.nodes == 12
    document = json.loads((tmp_path / "out" / "hosts" / "gpu1" / "rails.json").read_text())
    assert [one["name"] for one in document["interfaces"]] == ["storage0", "storage1"]


def installed(name: str, host: str) -> dict[str, InstalledFile]:
    """Return what a fabric installs on a node, by path."""
    fabric = design_text(TEXT, f"f.yml#{name}").fabric
    renderer = HostRenderer(fabric, find_templates())
    return {
        one.path: one for one in renderer.places.installed(renderer.files(fabric.host_of[host]), NetworkBackend.NETPLAN)
    }


def test_the_fabrics_of_a_node_share_no_file_interface_device_table_or_rule() -> None:
    files = [installed(name, "gpu1") for name in ("backend", "storage")]
    assert files[0].keys().isdisjoint(files[1])
    interfaces = [
        json.loads(files[at][f"/etc/railweave/{name}.json"].content)["interfaces"]
        for at, name in enumerate(("backend", "storage"))
    ]
    assert [one["name"] for one in interfaces[1]] == ["storage0", "storage1"]
    assert [one["rdma"] for one in interfaces[1]] == ["mlx5_8", "mlx5_9"]
    for key in ("name", "rdma", "address", "table", "rule_priority"):
        assert {one[key] for one in interfaces[0]}.isdisjoint(one[key] for one in interfaces[1])


def test_a_node_in_one_of_the_fabrics_counts_its_own_nics() -> None:
    document = json.loads(installed("storage", "store1")["/etc/railweave/storage.json"].content)
    assert [(one["name"], one["rdma"], one["table"]) for one in document["interfaces"]] == [
        ("storage0", "mlx5_0", 100), ("storage1", "mlx5_1", 101),
    ]  # fmt: skip


def test_nccl_uses_the_fabric_of_the_first_group_and_starts_over_none_that_carries_rdma() -> None:
    environment = installed("backend", "gpu1")["/etc/railweave/nccl.env"].content.decode()
    assert "NCCL_SOCKET_IFNAME=^lo,docker,backend,storage\n" in environment
    assert "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1," in environment
    assert "/etc/nccl.conf" not in installed("storage", "gpu1")


def test_a_node_starts_what_each_fabric_has_by_its_own_unit() -> None:
    files = installed("storage", "gpu1")
    unit = files["/etc/systemd/system/railweave-rdma-storage.service"].content.decode()
    command = "/usr/local/sbin/railweave-host-storage apply --document /etc/railweave/storage.json"
    assert f"ExecStart={command}\n" in unit
    assert command.split(maxsplit=1)[0] in files
    assert Places("storage").start_at_boot[1] == "../railweave-rdma-storage.service"
    rules = files["/etc/udev/rules.d/90-railweave-storage.rules"].content.decode()
    assert 'NAME=="storage*"' in rules
    assert "railweave-rdma-storage.service" in rules


def test_a_fabric_removes_no_file_of_another_that_begins_alike() -> None:
    files = {"networkd/10-railweave-storage0.network": b"", "networkd/10-railweave-storageb0.network": b""}
    own, other = (one.path for one in Places("storage").installed(files, NetworkBackend.NETWORKD))
    assert [any(fnmatchcase(path, pattern) for pattern in Places("storage").owned) for path in (own, other)] == [
        True,
        False,
    ]


def test_ratios_are_recommended_for_the_fabric_in_which_gpus_meet() -> None:
    text = TEXT.replace("    topology:\n      leaf", '    topology:\n      oversubscription: "3:1"\n      leaf', 1)
    codes = [{one.code for one in gather_text(text, f"f.yml#{name}").diagnostics} for name in ("backend", "storage")]
    assert ["RW209" in found for found in codes] == [True, False]


def test_a_base_file_is_read_for_the_same_fabric(project: Path) -> None:
    Path("before.yml").write_text(TEXT.replace("    count: 8\n", "    count: 4\n").replace("gpus: 64}", "gpus: 32}"))
    head = open_project(fabric="storage").intent
    assert len(designed_at("before.yml", head).fabric.hosts) == 8
    assert designed_at("before.yml#backend", head).fabric.name == "pod1-backend"


def test_a_project_names_its_fabric_behind_the_file(project: Path) -> None:
    assert open_project(fabric="storage") == Project(Path("intent/cluster.yml#storage"))
    assert open_project("intent/cluster.yml#backend", fabric="storage").intent == Path("intent/cluster.yml#storage")


@pytest.mark.parametrize(
    ("old", "new", "accepted"),
    [
        ("fabric: pod1", "fabric: pod1", True),
        ("{fabric: backend, ", "{", False),
        ("workload:", "topology: {leaf: {model: nvidia-sn4700}, spine: {model: nvidia-sn4700}}\nworkload:", False),
        ("      stripe: 8", "      stripes: 8", False),
        ("    topology:\n      shape", "    bgp:\n      shape", False),
    ],
)
def test_the_json_schema_describes_several_fabrics(old: str, new: str, accepted: bool) -> None:
    document = yaml.safe_load(TEXT.replace(old, new, 1))
    assert validator().is_valid(document) is accepted


def test_a_comparison_reads_the_fabric_of_the_file_that_it_names(project: Path) -> None:
    assert open_compared(None, "intent/cluster.yml#storage").intent == Path("intent/cluster.yml#storage")
    assert open_compared(None, "HEAD").intent == Path("intent/cluster.yml")
