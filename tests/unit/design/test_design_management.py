"""The management network: its addresses and cables with racks and without, in bill, report and rendered tables."""

import csv
import io
import json
from pathlib import Path

import pytest

from railweave.api.design.intent import design_text
from railweave.bom.bill import PartKind, bill
from railweave.cabling.management import management_csv
from railweave.catalog.load import load_catalog
from railweave.checks.intent import check_intent
from railweave.cli.main import main
from railweave.design.build import design
from railweave.fabric.management import Management
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text

ROOT = Path(__file__).resolve().parents[3]
CATALOG = load_catalog()

INTENT = """
fabric: f
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 6, gpus: 4, nics: {count: 4, speed: 400G, model: connectx-7}}
topology:
  stripe: 4
  links_per_pair: 1
  leaf: {model: nvidia-sn5600, downlink_speed: 400G, uplink_speed: 400G}
  spine: {model: nvidia-sn5600, count: 2}
  oversubscription: "2:1"
  reserve: {leaves: 16, spines: 4}
management:
  pool: 172.16.8.0/21
  switch: {model: SN2201}
"""

RACKS = """
racks:
  units: 52
  rows: [{name: a, racks: a1-3}]
  devices:
    - {devices: gpu1-6, racks: a1-2, height: 8}
    - {devices: f-leaf*, racks: a3, height: 2, unit: 1}
    - {devices: f-spine1-2, racks: a3, height: 2, unit: 48}
"""


def fabric_of(text: str) -> Fabric:
    return design_text(text, "f.yml").fabric


def planned(text: str) -> Management:
    found = fabric_of(text).management
    assert found is not None
    return found


def rows(text: str) -> dict[tuple[str, str], dict[str, str]]:
    table = csv.DictReader(io.StringIO(management_csv(planned(text)).decode()))
    return {(row["device"], row["port"]): row for row in table}


def test_without_racks_a_stripe_has_its_own_switches() -> None:
    found = rows(INTENT)
    assert found["f-leaf1", "eth0"] == {
        "device": "f-leaf1",
        "port": "eth0",
        "address": "172.16.8.16/21",
        "gateway": "172.16.8.1",
        "switch": "f-mgmt-stripe0-1",
        "switch_port": "1",
        "serves": "stripe 0",
        "length_m": "5",
    }
    # Leaves come first: gpu1 follows the four of its stripe, gpu5 those of the second.
    ends = {name: (row["switch"], row["switch_port"], row["address"]) for (name, _), row in found.items()}
    assert ends["f-leaf8"] == ("f-mgmt-stripe1-1", "4", "172.16.8.23/21")
    assert ends["f-spine2"] == ("f-mgmt-spines-1", "2", "172.16.10.1/21")
    assert ends["gpu1"] == ("f-mgmt-stripe0-1", "5", "172.16.12.0/21")
    assert ends["gpu5"] == ("f-mgmt-stripe1-1", "5", "172.16.12.128/21")
    assert list(found) == sorted(found, key=lambda one: (one[0].rstrip("0123456789"), one))


def test_with_racks_a_cable_ends_at_the_port_of_its_devices_rack_unit() -> None:
    found = rows(INTENT + RACKS)
    ends = {name: (row["switch"], row["switch_port"], row["serves"]) for (name, _), row in found.items()}
    assert ends["gpu1"] == ("f-mgmt-a1-1", "1", "rack a1")
    assert ends["gpu2"] == ("f-mgmt-a1-1", "9", "rack a1")
    assert ends["gpu4"] == ("f-mgmt-a2-1", "1", "rack a2")
    # Unit 50 of a rack is port 2 of its second switch of 48 ports.
    assert ends["f-spine2"] == ("f-mgmt-a3-2", "2", "rack a3")
    assert {name: row["address"] for (name, _), row in found.items()} == {
        name: row["address"] for (name, _), row in rows(INTENT).items()
    }


def test_several_ports_of_a_node_have_neighboring_addresses_and_cables() -> None:
    text = INTENT.replace("pool: 172.16.8.0/21", "pool: 172.16.0.0/20\n  node_ports: [bmc, eno1, dpu]")
    found = rows(text)
    assert [found["gpu2", name]["address"] for name in ("bmc", "eno1", "dpu")] == [
        "172.16.8.3/20",
        "172.16.8.4/20",
        "172.16.8.5/20",
    ]
    assert [found["gpu2", name]["switch_port"] for name in ("bmc", "eno1", "dpu")] == ["8", "9", "10"]
    # A node of one unit has three ports, so every rack unit has three.
    low = rows(text + RACKS.replace("height: 8", "height: 1"))
    assert [low["gpu2", name]["switch_port"] for name in ("bmc", "eno1", "dpu")] == ["4", "5", "6"]
    assert low["f-leaf1", "eth0"]["switch_port"] == "1"
    assert low["f-leaf2", "eth0"]["switch_port"] == "7"


def test_the_bill_has_its_switches_and_cables() -> None:
    lines = [one for one in bill(fabric_of(INTENT), CATALOG).lines if one.kind is PartKind.MANAGEMENT]
    assert [(one.part, one.quantity, one.length_m) for one in lines] == [("RJ45 to RJ45", 16, 5), ("SN2201", 3, None)]
    # They are no switches of the fabric: nothing says what they draw.
    assert bill(fabric_of(INTENT), CATALOG).space == bill(fabric_of(INTENT.partition("management")[0]), CATALOG).space


def test_render_and_report_have_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    intent = tmp_path / "f.yml"
    intent.write_text(INTENT, encoding="utf-8")
    assert main(["render", str(intent), "--out", str(tmp_path / "out")]) == 0
    files = [one for one in (tmp_path / "out").rglob("*") if one.is_file() and not one.name.startswith(".")]
    assert capsys.readouterr().out.startswith(f"{len(files)} files of 10 switches and 6 nodes")
    assert (tmp_path / "out" / "management.csv").read_bytes() == management_csv(planned(INTENT))
    assert main(["report", str(intent), "--out", str(tmp_path / "f.html")]) == 0
    page = (tmp_path / "f.html").read_text(encoding="utf-8")
    assert "172.16.8.0/21, gateway 172.16.8.1" in page
    assert "3 x SN2201" in page
    assert "f-mgmt-stripe1-1" in page
    capsys.readouterr()
    assert main(["bom", str(intent), "--json"]) == 0
    kinds = {line["kind"] for line in json.loads(capsys.readouterr().out)["lines"]}
    assert "management" in kinds


FABRICS = (ROOT / "docs" / "how-to" / "several-fabrics.md").read_text(encoding="utf-8")
CLUSTER = FABRICS.split("```yaml\n")[1].split("```")[0]
BACKEND = "  backend:\n    management: {pool: 172.16.8.0/21}\n"
STORAGE = "  storage:\n    management: {pool: 172.16.%s.0/21}\n"


def cluster(second: int) -> str:
    return CLUSTER.replace("  backend:\n", BACKEND).replace("  storage:\n", STORAGE % second)


def test_a_node_is_in_the_management_network_of_its_first_nics() -> None:
    own, other = (
        design(load_intent_text(cluster(16), f"cluster.yml#{name}"), CATALOG).fabric for name in ("backend", "storage")
    )
    networks = [one.management for one in (own, other) if one is not None]
    nodes = [{port.device for port in one.ports if port.name == "bmc"} for one in networks if one is not None]
    assert nodes == [{"gpu1", "gpu2"}, {"store1"}]


def test_two_fabrics_do_not_share_a_pool() -> None:
    backend = load_intent_text(cluster(8), "cluster.yml#backend")
    found = [one for one in check_intent(backend) if one.code == "RW127"]
    assert [one.message for one in found] == [
        "the pool of management (172.16.8.0/21) of pod1-backend overlaps that of management (172.16.8.0/21) of"
        " pod1-storage"
    ]
    assert found[0].fix == "state another `management.pool` for one of the fabrics"
