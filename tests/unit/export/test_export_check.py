"""What a consumer has against the intent: every finding has both places."""

from pathlib import Path

import pytest
from exported import CLUSTER, cluster, text_of

from railweave import api
from railweave.errors import RefusedError
from railweave.export.check.consumer import check_file
from railweave.export.model import ExportOptions
from railweave.export.registry import FORMATS

COMPARED = [name for name in FORMATS if name not in {"topograph", "topograph-graph", "ansible", "dns-zone"}]


def findings(text: str, **options: object) -> list[str]:
    source = cluster(options=ExportOptions(**options))  # type: ignore[arg-type]
    return [f"{one.where.line}:{one.where.column} {one.message}" for one in check_file(source, Path("has"), text)]


@pytest.mark.parametrize("name", COMPARED)
def test_what_was_exported_agrees(name: str) -> None:
    assert findings(text_of(cluster(), name)) == []


CHANGED = {
    "a ToS byte of the same code point": ("tos: 106", "tos: 104", []),
    "another code point": (
        "tos: 106",
        "tos: 96",
        ["26:14 qos.tos is 96, the switches expect 106 (cluster.yml:28:30, traffic_classes[0].dscp)"],
    ),
    "PFC of another priority": (
        'pfc: "0,0,0,1,0,0,0,0"',
        'pfc: "0,0,0,0,1,0,0,0"',
        [
            "25:14 qos.pfc is 0,0,0,0,1,0,0,0, the switches expect 0,0,0,1,0,0,0,0"
            " (cluster.yml:28:68, traffic_classes[0].priority)"
        ],
    ),
    "a shorter cable": (
        "cableLen: 15",
        "cableLen: 5",
        ["27:19 qos.cableLen is 5, the switches expect 15 (cluster.yml:31:28, cabling.host.length_m)"],
    ),
    "trust in PCP": (
        "trust: dscp",
        "trust: pcp",
        ["24:16 qos.trust is pcp, the switches expect dscp (cluster.yml:28:5, traffic_classes[0])"],
    ),
    "another DSCP of notifications": (
        'name: CNP_DSCP_P1\n      value: "48"',
        'name: CNP_DSCP_P1\n      value: "4"',
        ["36:7 CNP_DSCP_P1 is 4, the switches expect 48 (cluster.yml:29:5, traffic_classes[1])"],
    ),
    "the operator's default": (
        '    - name: CNP_DSCP_P1\n      value: "48"\n',
        "",
        [
            "34:5 the operator's default for CNP_DSCP_P1 is 4, the switches expect 48"
            " (cluster.yml:29:5, traffic_classes[1])"
        ],
    ),
    "no ECN": (
        "        ecn:\n          enabled: true\n          priority: 3\n",
        "",
        [
            "24:9 qos.ecn.enabled is missing, the switches expect true (cluster.yml:28:5, traffic_classes[0])",
            "24:9 qos.ecn.priority is missing, the switches expect 3 (cluster.yml:28:68, traffic_classes[0].priority)",
        ],
    ),
    "no marking at all": (
        "roceOptimized:\n      enabled: true",
        "roceOptimized:\n      enabled: false",
        ["18:5 roceOptimized is off, so the operator sets no marking; the switches expect that of cluster.yml:27:1"],
    ),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_template_that_contradicts_the_switches_is_a_finding(change: str) -> None:
    before, after, found = CHANGED[change]
    text = text_of(cluster(), "nic-configuration")
    assert before in text
    assert findings(text.replace(before, after, 1)) == found


def test_an_older_operator_is_not_asked_for_what_it_does_not_take() -> None:
    text = text_of(cluster(options=ExportOptions(release="26.4")), "nic-configuration")
    assert findings(text, release="26.4") == []
    assert len(findings(text)) == 8


def test_a_kind_without_a_template_and_a_template_without_nics_are_findings() -> None:
    text = text_of(cluster(), "nic-configuration").replace('nicType: "101d"', 'nicType: "1021"')
    assert findings(text) == [
        "0:0 no NicConfigurationTemplate selects the connectx-6-dx NICs of 'store' (cluster.yml:4:1)",
        "41:1 NicConfigurationTemplate 'ai1-store' selects no NIC of the intent (cluster.yml:2:9)",
    ]


def test_a_spectrum_x_profile_is_not_taken_for_agreement() -> None:
    text = text_of(cluster(), "nic-configuration")
    text = text.replace("    roceOptimized:", "    spectrumXOptimized:\n      enabled: true\n    roceOptimized:", 1)
    assert findings(text) == [
        "21:7 spectrumXOptimized takes marking from the operator's profile, which is not compared"
    ]


SLURM = """\
SwitchName=s0 Nodes=gpu[1-5]
SwitchName=s1 Nodes=gpu[6-7],old1
SwitchName=s2 Nodes=store1
SwitchName=top Switches=s[0-1]
"""


def test_a_slurm_tree_is_compared_by_its_nodes() -> None:
    assert findings(SLURM) == [
        "0:0 store2 of the intent (cluster.yml:2:9) are missing",
        "1:1 s0 joins nodes of several groups of the intent (cluster.yml:2:9):"
        " ai1-stripe-0: gpu1…4; ai1-stripe-1: gpu5",
        "1:1 the nodes of ai1-stripe-1 of the intent (cluster.yml:2:9) are in 2 groups: s0 (has:1:1), s1 (has:2:1)",
        "2:1 s1 has old1, which the intent (cluster.yml:2:9) does not export",
        "4:1 top joins s0, s1: no tier of the intent (cluster.yml:2:9) joins just these nodes",
    ]


def test_names_of_slurm_switches_do_not_matter() -> None:
    text = text_of(cluster(), "slurm-tree").replace("ai1-stripe-", "leafgroup")
    assert findings(text) == []


def test_a_topology_yaml_is_compared_too() -> None:
    text = text_of(cluster(), "slurm-yaml").replace('nodes: "gpu[1-4]"', 'nodes: "gpu[1-3]"', 1)
    assert findings(text)[0].startswith("0:0 gpu4 of the intent (cluster.yml:2:9) are missing")


def test_labels_of_nodes_are_compared_and_others_left_alone() -> None:
    text = text_of(cluster(), "node-labels")
    text = text.replace("tier-0: ai1-stripe-0", "tier-0: ai1-stripe-1", 1).replace(
        "  name: store2\n", "  name: login1\n"
    )
    text = text.replace(
        "fabric.topograph.run/tier-0: ai1-stripe-2\n    fabric.topograph.run/tier-1: ai1-pod-1\n", "a: b\n"
    )
    assert findings(text) == [
        "0:0 nodes store2 of the intent (cluster.yml:2:9) are missing",
        "9:34 node gpu1: label fabric.topograph.run/tier-0 is 'ai1-stripe-1', the intent (cluster.yml:2:9) gives"
        " 'ai1-stripe-0'",
        "74:1 node store1 has no label fabric.topograph.run/tier-0, the intent (cluster.yml:2:9) gives 'ai1-stripe-2'",
        "74:1 node store1 has no label fabric.topograph.run/tier-1, the intent (cluster.yml:2:9) gives 'ai1-pod-1'",
        "89:34 node login1: label fabric.topograph.run/tier-2 is 'ai1', the intent (cluster.yml:2:9) gives none",
    ]


def test_a_list_of_kubectl_is_read() -> None:
    nodes = text_of(cluster(), "node-labels").split("---\n")[1:]
    items = "".join(f"- {node.replace(chr(10), chr(10) + '  ').rstrip()}\n" for node in nodes)
    assert findings(f"apiVersion: v1\nkind: List\nitems:\n{items}") == []


def test_resources_are_compared_key_by_key() -> None:
    pools = text_of(cluster(), "cidr-pools").replace('prefix: "10.32.0.0/31"', 'prefix: "10.32.0.8/31"', 1)
    assert findings(pools.replace("gatewayIndex: 0", "gatewayIndex: 1", 1)) == [
        "11:17 CIDRPool rail0: spec.gatewayIndex is '1', the intent (cluster.yml:2:9) gives '0'",
        "17:13 CIDRPool rail0: spec.staticAllocations[gpu1].prefix is '10.32.0.8/31',"
        " the intent (cluster.yml:2:9) gives '10.32.0.0/31'",
    ]
    hyper = text_of(cluster(), "volcano").replace("name: gpu7", "name: gpu9")
    assert (
        findings(hyper)
        == [
            "32:3 HyperNode ai1-stripe-1: spec.members (cluster.yml:2:9): gpu7 of the intent missing",
            "40:5 HyperNode ai1-stripe-1: spec.members (cluster.yml:2:9): 'gpu9' is not of the intent",
        ]
        or hyper
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: [1\n", "not YAML: "),
        ("kind: Pod\n", "nothing in it can be compared with the intent"),
        ("", "nothing in it can be compared with the intent"),
        ("- 1\n- 2\n", "nothing in it can be compared with the intent"),
        ("SwitchName=a Nodes=gpu[1-\n", "'gpu[1-' is not a host list"),
        ("SwitchName=a Nodes=gpu[1-99999999]\n", "'1-99999999' has more than 1,048,576 names"),
        (70 * "[" + 70 * "]", "values are nested more than 64 deep"),
        ("&a [*a]\n", "values are nested more than 64 deep"),
    ],
)
def test_a_file_that_cannot_be_compared_is_named(text: str, fault: str) -> None:
    with pytest.raises(RefusedError, match="has") as refused:
        findings(text)
    assert refused.value.diagnostics[0].code == "RW954"
    assert fault in refused.value.diagnostics[0].message


def test_the_api_reads_the_file(tmp_path: Path) -> None:
    file = tmp_path / "topology.conf"
    file.write_text(SLURM, encoding="utf-8")
    found = api.check_export(api.open_project(CLUSTER), file)
    assert {one.code for one in found} == {"RW953"}
    assert found[0].where.file == str(file)
