"""What a node is to be: addresses, tables, marking, NCCL."""

import configparser
import math
from collections.abc import Callable

import orjson
import pytest

from railweave.catalog.load import load_catalog
from railweave.fabric.model import Fabric
from railweave.hosts.packs import filled_steps
from railweave.hosts.places import Places
from railweave.hosts.render import HostRenderer, nccl_settings
from railweave.hosts.values import Rail, RailAddress, marking, node_of
from railweave.qos.mmu.headroom import nic_headroom_bytes
from railweave.templates import find_templates
from railweave.units import ipv4_text

Pod = Callable[..., Fabric]
STORAGE = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [26], lossless: true, priority: 3, share: 50}
  - {name: nvme, role: storage, dscp: [34], lossless: true, priority: 4, share: 40}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""


def ipv4(rail: Rail) -> RailAddress:
    assert rail.ipv4 is not None
    return rail.ipv4


def test_every_rail_has_the_odd_end_of_its_link_and_a_table_of_its_own(pod: Pod) -> None:
    fabric = pod()
    for host in fabric.hosts:
        rails = node_of(fabric, host).rails
        assert [rail.table for rail in rails] == [100, 101, 102, 103]
        assert [rail.rule_priority for rail in rails] == [1000, 1001, 1002, 1003]
        for rail, link in zip(rails, fabric.links_of[host.name], strict=True):
            assert (ipv4(rail).gateway, ipv4(rail).address) == (link.network, link.network + 1)
            assert ipv4(rail).address % 2 == 1
            assert rail.switch == link.upper


def test_no_address_is_given_twice_and_all_are_in_the_pool(pod: Pod) -> None:
    fabric = pod(nodes=64)
    pool = fabric.policies.addressing.hosts
    assert pool is not None
    addresses = [address for host in fabric.hosts for rail in node_of(fabric, host).rails for address in ipv4(rail)[:2]]
    assert len(set(addresses)) == len(addresses) == 64 * 4 * 2
    assert all(pool.first <= address < pool.first + pool.size for address in addresses)


def test_growth_changes_no_file_of_a_node_that_runs(pod: Pod) -> None:
    small, large = pod(nodes=8), pod(nodes=16)
    for host in small.hosts:
        before = HostRenderer(small, find_templates()).files(host)
        assert HostRenderer(large, find_templates()).files(large.host_of[host.name]) == before


def test_the_marking_is_that_of_the_classes(pod: Pod) -> None:
    found = marking(pod().policies.classes)
    assert found is not None
    assert (found.dscp, found.tos, found.priority) == (26, 106, 3)
    assert (found.cnp_dscp, found.cnp_priority) == (48, 6)
    assert found.pfc == (False, False, False, True, False, False, False, False)
    assert found.class_dscp == ((26, 3), (48, 6))
    assert found.rest_priority == 0


def test_a_fabric_without_rdma_has_no_marking() -> None:
    assert marking(()) is None


def test_the_vendor_follows_the_nic_model() -> None:
    vendor_of = load_catalog().vendor_of
    assert vendor_of("connectx-7") == "nvidia"
    assert vendor_of("broadcom-thor2") == "broadcom"
    assert vendor_of("amd-pollara-400") == "amd"
    assert vendor_of("intel-e810") == "intel"


def test_every_nic_of_a_pack_is_in_the_catalog() -> None:
    catalog = load_catalog()
    assert {nic for vendor in catalog.vendor_ids() for nic in catalog.vendor_pack(vendor).nics} <= set(
        catalog.nic_ids()
    )


@pytest.mark.parametrize("vendor", load_catalog().vendor_ids())
@pytest.mark.parametrize("rest", ["", STORAGE], ids=["default classes", "storage and no cnp"])
def test_nothing_of_a_pack_is_left_open_but_what_the_node_knows(pod: Pod, vendor: str, rest: str) -> None:
    mark = marking(pod(rest=rest).policies.classes)
    assert mark is not None
    steps = filled_steps(load_catalog().vendor_pack(vendor), mark)
    words = repr([(step["writes"], [read | {"pattern": ""} for read in step["reads"]]) for step in steps])
    assert "$" not in words
    assert ("cnp" in words) == (mark.cnp_dscp is not None and vendor != "intel"), "irdma marks CNPs by itself"


def test_two_lossless_classes_are_both_paused_and_both_marked_for_congestion(pod: Pod) -> None:
    mark = marking(pod(rest=STORAGE).policies.classes)
    assert mark is not None
    steps = filled_steps(load_catalog().vendor_pack("nvidia"), mark)
    reads = {read["what"]: read["want"] for step in steps for read in step["reads"]}
    assert reads["pfc"] == "0 0 0 1 1 0 0 0"
    assert reads["dcqcn reaction point 3"] == reads["dcqcn reaction point 4"] == "1"
    assert reads["dscp to priority"] == {"26": "3", "34": "4"}


def test_nccl_marks_as_the_switches_expect_and_stays_on_its_rail(pod: Pod) -> None:
    fabric = pod(rest="hosts: {frontend: eno1}")
    settings = nccl_settings(fabric, node_of(fabric, fabric.hosts[0]))
    assert dict(settings) == {
        "NCCL_IB_TC": "106",
        "NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1",
        "NCCL_CROSS_NIC": "0",
        "NCCL_PXN_DISABLE": "0",
        "NCCL_SOCKET_IFNAME": "eno1",
    }
    asked = pod(rest="hosts: {qps_per_connection: 8}")
    assert nccl_settings(asked, node_of(asked, asked.hosts[0]))["NCCL_IB_QPS_PER_CONNECTION"] == "8"


def test_nccl_may_cross_nics_where_a_rack_shares_a_leaf(pod: Pod) -> None:
    fabric = pod(shape="rack-aligned")
    settings = nccl_settings(fabric, node_of(fabric, fabric.hosts[0]))
    assert settings["NCCL_CROSS_NIC"] == "1"
    assert "NCCL_PXN_DISABLE" not in settings


def test_stated_rdma_devices_and_pci_addresses_are_used(pod: Pod) -> None:
    addresses = ", ".join(f'"0000:{slot}:00.0"' for slot in ("1a", "3c", "9a", "bc"))
    fabric = pod(nics=f", pci_addresses: [{addresses}], rdma_devices: [mlx5_0, mlx5_3, mlx5_4, mlx5_5]")
    files = HostRenderer(fabric, find_templates()).files(fabric.hosts[0])
    assert b"NCCL_IB_HCA==mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1\n" in files["nccl.conf"]
    assert b"Path=pci-0000:3c:00.0\n" in files["networkd/10-railweave-rail1.link"]


@pytest.mark.parametrize(
    ("network", "wanted"),
    [
        ("networkd", "/etc/systemd/network/10-railweave-rail0.network"),
        ("netplan", "/etc/netplan/90-railweave.yaml"),
        ("networkmanager", "/etc/NetworkManager/system-connections/railweave-rail0.nmconnection"),
    ],
)
def test_a_node_gets_the_files_of_one_network_configuration(pod: Pod, network: str, wanted: str) -> None:
    fabric = pod(rest=f"hosts: {{network: {network}}}")
    files = HostRenderer(fabric, find_templates()).files(fabric.hosts[0])
    places = {one.path: one.mode for one in Places().installed(files, fabric.policies.hosts.network)}
    assert wanted in places
    of_networks = [place for place in places if place.endswith((".network", ".yaml", ".nmconnection"))]
    assert len(of_networks) == (1 if network == "netplan" else 4)
    assert network == "networkd" or {places[place] for place in of_networks} == {0o600}
    assert places["/usr/local/sbin/railweave-host"] == 0o755


def test_nodes_of_a_kind_share_what_is_the_same(pod: Pod) -> None:
    fabric = pod()
    renderer = HostRenderer(fabric, find_templates())
    first, second = fabric.hosts[:2]
    assert renderer.shared(first) is renderer.shared(second)
    assert renderer.own(first).keys() == renderer.own(second).keys()
    own = ipv4_text(ipv4(node_of(fabric, second).rails[0]).address).encode()
    assert own in renderer.own(second)["rails.json"]
    assert own not in renderer.own(first)["rails.json"]


def test_networkmanager_gets_what_networkd_does(pod: Pod) -> None:
    fabric = pod(rest="hosts: {network: networkmanager}")
    texts = HostRenderer(fabric, find_templates()).files(fabric.hosts[1])
    profile = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    profile.read_string(texts["railweave-rail2.nmconnection"].decode())
    rail = node_of(fabric, fabric.hosts[1]).rails[2]
    own, gateway = (ipv4_text(one) for one in ipv4(rail)[:2])
    assert dict(profile["connection"]) == {"id": "railweave-rail2", "type": "ethernet", "interface-name": "rail2"}
    assert profile["ethernet"]["mtu"] == "9000"
    assert dict(profile["ipv4"]) == {
        "method": "manual",
        "address1": f"{own}/31",
        "route1": f"0.0.0.0/0,{gateway}",
        "route1_options": "table=102",
        "route2": f"10.32.0.0/11,{gateway},102",
        "routing-rule1": f"priority 1002 from {own} table 102",
    }
    assert profile["ipv6"]["method"] == "disabled"


def test_jobs_start_after_the_nics_are_set_and_a_loaded_driver_is_set_again(pod: Pod) -> None:
    fabric = pod()
    files = HostRenderer(fabric, find_templates()).files(fabric.hosts[0])
    assert b"\nBefore=slurmd.service kubelet.service\n" in files["railweave-rdma.service"]
    other = HostRenderer(fabric, find_templates(), before=["flux.service"]).files(fabric.hosts[0])
    assert b"\nBefore=flux.service\n" in other["railweave-rdma.service"]
    none = HostRenderer(fabric, find_templates(), before=[]).files(fabric.hosts[0])
    assert b"Before=" not in none["railweave-rdma.service"]
    rules = [line for line in files["railweave.rules"].decode().splitlines() if not line.startswith("#")]
    assert [line.partition(", RUN")[0] for line in rules] == [
        'ACTION=="add|move", SUBSYSTEM=="net", NAME=="rail*"',
        'ACTION=="add", SUBSYSTEM=="infiniband"',
    ]
    assert all(line.endswith('--no-block try-restart railweave-rdma.service"') for line in rules)
    places = {one.path for one in Places().installed(files, fabric.policies.hosts.network)}
    assert "/etc/udev/rules.d/90-railweave.rules" in places


@pytest.mark.parametrize(("length_m", "speed_gbps"), [(20, 400), (100, 400), (5, 100)])
def test_a_nic_keeps_what_arrives_after_it_has_paused_its_switch(length_m: int, speed_gbps: int) -> None:
    # 2 frames, the cable both ways at 198,000 km/s, 819.2 bytes of MAC and PHY, and the peer's quanta x 64 bytes.
    by_hand = 2 * 9000 + 2 * length_m * speed_gbps / 8 / 0.198 + 819.2 + {400: 905, 100: 394}[speed_gbps] * 64
    assert nic_headroom_bytes(speed_gbps, length_m, 9000) == math.ceil(by_hand)


def test_the_cable_and_a_buffer_for_the_headroom_are_set_where_the_driver_has_them(pod: Pod) -> None:
    fabric = pod(rest="cabling: {host: {length_m: 30}}")
    receive = node_of(fabric, fabric.hosts[0]).receive
    assert receive == (30, nic_headroom_bytes(400, 30, 9000) + 9000)
    document = orjson.loads(HostRenderer(fabric, find_templates()).files(fabric.hosts[0])["rails.json"])
    reads = {read["what"]: read for step in document["nic"]["steps"] for read in step["reads"]}
    assert reads["cable length"]["want"] == "30"
    assert reads["priority to buffer"]["want"] == {str(one): "1" if one == 3 else "0" for one in range(8)}
    size = int(reads["receive buffers"]["want"]["1"])
    assert receive.lossless_bytes <= size < receive.lossless_bytes + 1152
    assert size % 96 == size % 128 == size % 144 == size % 192 == 0
    assert all(reads[what]["optional"] for what in ("cable length", "priority to buffer", "receive buffers"))
