"""Port 0 of every NIC in one fabric and port 1 in another: ports, devices, tables and the bill, by hand."""

from pathlib import Path

import pytest
import yaml
from fabrics_intent import intent_of_fabrics
from intent_schema import validator

from railweave import api
from railweave.api.design.intent import design_text, gather_text
from railweave.bom.bill import PartKind
from railweave.errors import RefusedError
from railweave.hosts.values import node_of
from railweave.intent.load import load_intent_text

TEXT = intent_of_fabrics(
    [
        "fabric: [backend, storage]\n"
        "        count: 2\n"
        "        speed: 100G\n"
        "        ports: 2\n"
        "        model: connectx-6\n"
        '        pci_addresses: ["0000:1a:00.0", "0000:3d:00.0"]',
        "{fabric: frontend, count: 1, speed: 100G, model: connectx-6}",
    ],
    {"backend": "", "storage": "", "frontend": ""},
)


def refused(text: str) -> list[str]:
    with pytest.raises(RefusedError) as caught:
        load_intent_text(text, "f.yml#storage")
    return [f"{one.code} {one.where.path} {one.message} / {one.fix}" for one in caught.value.diagnostics]


def test_each_fabric_has_its_port_of_every_nic() -> None:
    validator().validate(yaml.safe_load(TEXT))
    rails = {}
    for name in ("backend", "storage", "frontend"):
        fabric = design_text(TEXT, f"f.yml#{name}").fabric
        node = node_of(fabric, fabric.host_of["gpu1"])
        rails[name] = [(rail.name, rail.pci, rail.rdma, rail.table) for rail in node.rails]
    assert rails == {
        "backend": [("backend0", "0000:1a:00.0", "mlx5_0", 100), ("backend1", "0000:3d:00.0", "mlx5_2", 102)],
        "storage": [("storage0", "0000:1a:00.1", "mlx5_1", 101), ("storage1", "0000:3d:00.1", "mlx5_3", 103)],
        # Behind the four ports of the NICs above.
        "frontend": [("frontend0", "", "mlx5_4", 104)],
    }


def test_a_fabric_of_some_ports_is_designed_as_one_of_nics_with_as_many() -> None:
    alone = TEXT.replace("[backend, storage]", "backend").replace("        ports: 2\n", "").replace("  storage:", "  #")
    fabric, other = (design_text(text, "f.yml#backend").fabric for text in (TEXT, alone))
    assert fabric.links == other.links
    assert fabric.switches == other.switches


def test_collectives_are_in_the_fabric_of_the_first_port() -> None:
    fabrics = [design_text(TEXT, f"f.yml#{name}").fabric for name in ("backend", "storage", "frontend")]
    assert [fabric.host_of["gpu1"].runs_nccl for fabric in fabrics] == [True, False, False]


def test_a_nic_is_bought_once(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yml"
    path.write_text(TEXT, encoding="utf-8")
    found = api.bom(api.open_project(path))
    nics = {line.description: line.quantity for line in found.lines if line.kind is PartKind.NIC}
    assert nics == {"2 ports of 100G": 8, "1 port of 100G": 4}
    # Leaves: 2, 2 and 1, each with 4 cables to spines; 4 nodes with 5 cables.
    assert found.quantity(PartKind.CABLE) == 5 * 4 + 4 * 5


def test_the_slot_has_to_carry_all_ports_of_a_nic() -> None:
    text = TEXT.replace("        model: connectx-6\n", "        model: connectx-6\n        pcie: gen3x16\n")
    for name in ("backend", "storage"):
        [found] = [one for one in gather_text(text, f"f.yml#{name}").diagnostics if one.code == "P-1"]
        assert "2x100G ports need 200" in found.message


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "[backend, backend]",
            "RW016 nodes[0].nics[0].fabric[1] nodes[0].nics[0]: `backend` twice / name each fabric once: its ports"
            " follow each other in turn",
        ),
        (
            "[backend]",
            "RW016 nodes[0].nics[0].fabric nodes[0].nics[0].fabric: a list of 1 fabric / write one fabric without"
            " brackets, or a fabric for each port of the NIC",
        ),
        (
            "[backend, storge]",
            "RW014 nodes[0].nics[0].fabric[1] nodes[0].nics[0].fabric[1]: unknown fabric `storge` / did you mean"
            " `storage`?",
        ),
        (
            "[backend, storage, frontend]",
            "RW103 nodes[0].nics[0].fabric a NIC with 2 ports does not reach 3 fabrics alike / give a NIC 3 ports or a"
            " multiple of it",
        ),
    ],
)
def test_other_lists_of_fabrics_are_refused(written: str, expected: str) -> None:
    text = TEXT.replace("[backend, storage]", written)
    assert expected in refused(text)


def test_a_cage_and_a_dual_tor_leaf_have_one_fabric() -> None:
    caged = TEXT.replace("        ports: 2\n", "        ports: 2\n        cages: 1\n")
    found = [f"{one.code} {one.message}" for one in gather_text(caged, "f.yml#storage").diagnostics]
    assert "P-2 2 ports of a cage of the NIC are in several fabrics, by one cable" in found
    dual = TEXT.replace("        ports: 2\n", "        ports: 4\n")
    dual = dual.replace("storage: {topology: {", "storage: {topology: {leaves_per_nic: 2, ")
    found = [f"{one.code} {one.message}" for one in gather_text(dual, "f.yml#storage").diagnostics]
    assert "RW103 2 leaves share a NIC whose other ports are in another fabric" in found
