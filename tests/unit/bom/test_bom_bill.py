"""The bill of materials: modules by cage, cables by the plugs that they join, and prices of the user's."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from by_check import sampled

from railweave.bom.bill import Bill, PartKind, Space, bill, change
from railweave.bom.prices import priced, read_prices
from railweave.bom.spares import read_spares, with_spares
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent, load_intent_text
from railweave.report.bom import bom_csv, bom_json

ROOT = Path(__file__).resolve().parents[3]
CATALOG = load_catalog()

INTENT = """
fabric: f
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: 8, speed: {speed}, model: {nic}}}}}
topology:
  planes: 1
  wiring: {wiring}
  oversubscription: "1:1"
  leaf: {{model: {leaf}, downlink_speed: {speed}, uplink_speed: {up}}}
  spine: {{model: {spine}}}
cabling:
  host: {{length_m: {near}, media: {access}}}
  leaf_spine: {{length_m: {far}, media: {between}}}
"""


def fabric_of(text: str) -> Fabric:
    found = design(load_intent_text(text, "f.yml"), CATALOG)
    assert found.fabric is not None, found.diagnostics
    return found.fabric


def built(**changed: object) -> Fabric:
    values: dict[str, object] = {
        "nodes": 32,
        "speed": "400G",
        "up": "400G",
        "nic": "connectx-7",
        "leaf": "nokia-ixr7220-h4-64d",
        "spine": "nokia-ixr7220-h4-64d",
        "near": 20,
        "far": 30,
        "access": "auto",
        "between": "auto",
        "wiring": "cages",
    }
    return fabric_of(INTENT.format(**(values | changed)))


def parts(found: Bill, kind: PartKind) -> dict[str, int]:
    counts: dict[str, int] = {}
    for line in found.lines:
        if line.kind is kind:
            counts[line.part] = counts.get(line.part, 0) + line.quantity
    return counts


@pytest.fixture(scope="module")
def reference() -> Callable[[str], Bill]:
    def made(name: str) -> Bill:
        fabric = design(load_intent(ROOT / "intent" / name), CATALOG).fabric
        assert fabric is not None
        return bill(fabric, CATALOG)

    return made


def test_the_parts_of_a_pod_whole(reference: Callable[[str], Bill]) -> None:
    assert bom_csv(reference("pod-32.yml")).decode() == (
        "kind,part,description,quantity,spares,length_m,where,rack_units,max_power_w\n"
        "switch,NVIDIA SN4700,HWSKU ACS-MSN4700,4,0,,spine,1,\n"
        "switch,Nokia 7220 IXR-H4-64D,HWSKU Nokia-IXR7220-H4-64D,4,0,,leaf,2,\n"
        "nic,NVIDIA ConnectX-7,1 port of 400G,128,0,,gpu,,\n"
        'module,OSFP or QSFP112 400G-DR4,"reaches 500 m, host lanes of 100G",128,0,,host_leaf,,\n'
        'module,QSFP-DD 400G-DR4,"reaches 500 m, host lanes of 50G",128,0,,host_leaf,,\n'
        "cable,AOC QSFP-DD 400G to QSFP-DD 400G,active optical cable,128,0,30,leaf_spine,,\n"
        "fiber,OS2 fiber MPO-12 to MPO-12,crossed (TIA-568.3 type B),128,0,20,host_leaf,,\n"
    )


def test_spares_are_a_share_of_every_part_rounded_up(reference: Callable[[str], Bill]) -> None:
    found = with_spares(reference("pod-32.yml"), read_spares(["2.5"]))
    assert [(line.quantity, line.spares) for line in found.lines] == [(4, 1), (4, 1), *[(128, 4)] * 5]
    assert with_spares(found, read_spares([])) == reference("pod-32.yml")
    unchanged = change(with_spares(reference("pod-32.yml"), read_spares(["1%"])), found, "main")
    assert [(line.quantity, line.spares) for line in unchanged.lines] == [(0, 2)] * 5


def test_spares_differ_by_kind_of_part_in_percent_or_pieces(reference: Callable[[str], Bill]) -> None:
    found = with_spares(reference("pod-32.yml"), read_spares(["cable=10", "switch=+1", "3", "nic=0"]))
    spares = [(line.kind, line.spares) for line in found.lines]
    assert spares == [
        (PartKind.SWITCH, 1),
        (PartKind.SWITCH, 1),
        (PartKind.NIC, 0),
        (PartKind.MODULE, 4),
        (PartKind.MODULE, 4),
        (PartKind.CABLE, 13),
        (PartKind.FIBER, 4),
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("101", "`101` is not a valid spares rule: write a percentage like 2.5, module=5 or switch=+1"),
        ("-1", "`-1` is not a valid spares rule: write a percentage like 2.5, module=5 or switch=+1"),
        (
            "modul=2",
            "unknown kind of part `modul`: did you mean `module`? write switch, card, nic, module,"
            " cable, fiber or management",
        ),
    ],
)
def test_another_rule_of_spares_is_refused(rule: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_spares([rule])
    assert str(refused.value) == message


def test_a_port_that_is_broken_out_to_nodes_takes_one_cable_with_several_ends(reference: Callable[[str], Bill]) -> None:
    found = reference("mixed-nodes.yml")
    assert parts(found, PartKind.CABLE) == {
        "AOC QSFP-DD 2x200G to 2x QSFP56 200G": 16,
        "AOC QSFP-DD 4x100G to 4x QSFP56 100G": 4,
    }
    assert parts(found, PartKind.MODULE)["OSFP 2x400G-DR4"] == 20


def test_twin_port_modules_are_one_for_two_links(reference: Callable[[str], Bill]) -> None:
    """Twin-port OSFP modules have two MPO-12 connectors (NVIDIA MMS4X00), a 400G link each."""
    fabric = built(leaf="nvidia-sn5600", spine="nvidia-sn5600", nodes=64, far=100)
    found = bill(fabric, CATALOG)
    links = fabric.sizing.links
    assert (links.host_leaf, links.leaf_spine) == (512, 512)
    assert parts(found, PartKind.MODULE) == {"OSFP 2x400G-DR4": 2 * links.leaf_spine // 2}
    assert parts(found, PartKind.FIBER) == {"OS2 fiber MPO-12 to MPO-12": links.leaf_spine}
    assert parts(found, PartKind.CABLE) == {"AOC OSFP 2x400G to 2x OSFP or QSFP112 400G": links.host_leaf // 2}
    assert found.remarks == ()


def test_lanes_that_share_a_connector_are_joined_by_a_breakout_fiber() -> None:
    fabric = built(nodes=32, speed="100G", nic="connectx-6", access="dr", near=50)
    found = bill(fabric, CATALOG)
    assert parts(found, PartKind.FIBER)["OS2 breakout MPO-12 to 4x LC duplex"] == 64
    assert parts(found, PartKind.MODULE)["QSFP-DD 4x100G-DR1"] == 64


@pytest.mark.parametrize(
    ("units", "leaves", "spines", "cables"), sampled([(2, 16, 8, 512), (4, 32, 16, 1024), (8, 64, 32, 2048)], every=3)
)
def test_a_superpod_takes_its_published_switches_and_cables(units: int, leaves: int, spines: int, cables: int) -> None:
    """NVIDIA DGX SuperPOD (docs.nvidia.com, scalable-infrastructure-b200): units of 32 nodes; each layer takes as many
    cables. Every cable here is a fiber with a module at both ends."""
    found = bill(built(nodes=32 * units, access="dr", between="dr"), CATALOG)
    assert parts(found, PartKind.SWITCH) == {"Nokia 7220 IXR-H4-64D": leaves + spines}
    fibers = {line.length_m: line.quantity for line in found.lines if line.kind is PartKind.FIBER}
    assert fibers == {20: cables, 30: cables}
    assert found.quantity(PartKind.NIC) == cables
    assert found.quantity(PartKind.MODULE) == 4 * cables


PLANES = """
fabric: f
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 32, gpus: 8, nics: {count: 8, speed: 200G, ports: 4, cages: 1, model: connectx-8}}
topology:
  planes: 4
  leaf: {model: nvidia-sn5600, downlink_speed: 200G, uplink_speed: 800G}
  spine: {model: nvidia-sn5600}
  oversubscription: "1:1"
cabling:
  host: {media: dr}
"""


def test_planes_of_one_cage_are_joined_by_shuffles() -> None:
    """256 NICs with an OSFP cage of four ports, leaves with as many ports in a cage: each connector of 4 lanes carries
    two ports, to two planes at the NIC and to two nodes at the leaf."""
    found = bill(fabric_of(PLANES), CATALOG)
    assert parts(found, PartKind.MODULE) == {"OSFP 4x200G-DR2": 256 + 256}
    assert parts(found, PartKind.FIBER) == {"OS2 shuffle 2x MPO-12 to 2x MPO-12": 256}
    apart = bill(fabric_of(PLANES.replace("cages: 1, ", "")), CATALOG)
    assert parts(apart, PartKind.MODULE) == {"OSFP 4x200G-DR2": 256, "OSFP or QSFP112 200G-DR2": 1024}
    assert (found.shares_cages, apart.shares_cages) == (True, False)


def test_two_cages_have_the_form_factor_with_lanes_for_their_ports() -> None:
    two = bill(fabric_of(PLANES.replace("cages: 1", "cages: 2")), CATALOG)
    assert parts(two, PartKind.MODULE) == {"OSFP 4x200G-DR2": 256, "OSFP or QSFP112 2x200G-DR2": 512}


def test_copper_that_would_have_to_join_cages_crosswise_is_a_remark() -> None:
    fabric = built(leaf="nvidia-sn5600", spine="nvidia-sn5600", nodes=64, far=2, between="dac", wiring="ports")
    found = bill(fabric, CATALOG)
    assert len(found.remarks) == 1
    assert "share cages at both ends in different ways" in found.remarks[0]
    assert found.remarks[0].endswith("no cable with fixed ends joins these; choose fibers for them (`cabling`)")


def test_the_cages_of_switches_with_two_ports_a_cage_are_joined_by_one_cable() -> None:
    """64 nodes: 8 leaves of 64 uplinks on 32 cages, 4 spines with 16 links, 8 cages, to each leaf."""
    found = bill(built(leaf="nvidia-sn5600", spine="nvidia-sn5600", nodes=64), CATALOG)
    assert parts(found, PartKind.CABLE)["AOC OSFP 2x400G to OSFP 2x400G"] == 8 * 32
    assert not found.remarks


def test_an_automatic_medium_is_a_fiber_where_links_share_cages_crosswise() -> None:
    """Each of 8 leaves has 64 uplinks on 32 cages, 4 spines have as many ports in all: one module a cage."""
    apart = bill(built(leaf="nvidia-sn5600", spine="nvidia-sn5600", nodes=64, wiring="ports"), CATALOG)
    assert parts(apart, PartKind.MODULE) == {"OSFP 2x400G-SR4": 2 * 8 * 32}
    assert parts(apart, PartKind.FIBER) == {"OM4 fiber MPO-12 to MPO-12": 8 * 64}
    assert not apart.remarks


def test_switches_are_summed_in_rack_units_and_watts_as_far_as_sources_state_them() -> None:
    known = bill(
        built(leaf="nvidia-sn5600", spine="arista-7060x6-64pe", near=5, between="auto", access="auto"), CATALOG
    )
    leaves, spines = (sum(one.quantity for one in known.lines if one.where == (tier,)) for tier in ("leaf", "spine"))
    assert known.space == Space(2 * (leaves + spines), 2400 * spines, (), ("NVIDIA SN5600",))
    unknown = bill(built(leaf="nvidia-sn5400", spine="nvidia-sn5400", near=5, between="auto", access="auto"), CATALOG)
    assert unknown.space == Space(None, None, ("NVIDIA SN5400",), ("NVIDIA SN5400",))
    assert change(unknown, known, "HEAD").space.max_power_w == 2400 * spines


def test_a_change_is_the_difference_of_two_bills() -> None:
    small, large = bill(built(nodes=32), CATALOG), bill(built(nodes=64), CATALOG)
    more = change(small, large, "main")
    assert more.against == "main"
    assert parts(more, PartKind.NIC) == {"NVIDIA ConnectX-7": 256}
    assert {line.quantity for line in change(large, small, "main").lines} == {-line.quantity for line in more.lines}
    assert change(small, small, "main").lines == ()


# Prices


def prices(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "prices.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_prices_are_summed_and_parts_without_one_are_named(tmp_path: Path, reference: Callable[[str], Bill]) -> None:
    listed = "currency: EUR\nprices:\n  NVIDIA SN4700: 20000\n  OS2 fiber MPO-12 to MPO-12: 80\n"
    listed += "  OS2 fiber MPO-12 to MPO-12 20 m: 99.50\n"
    found = reference("pod-32.yml")
    found = priced(found, read_prices(prices(tmp_path, listed)), found.lines)
    assert found.total == Decimal("92736.00")
    document = bom_json(found)
    assert (document["total"], document["currency"]) == ("92736.00", "EUR")
    assert [line["price"] for line in document["lines"]] == ["80000.00", None, None, None, None, None, "12736.00"]
    assert "NVIDIA ConnectX-7" in document["unpriced"]
    assert bom_csv(found).decode().splitlines()[1].endswith(",0,,spine,1,,20000.00,80000.00,EUR")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("currency: EUR\nprices: {NVIDIA SN470: 1}\n", "2:10 the bill has no part `NVIDIA SN470`"),
        ("currency: euro\nprices: {NVIDIA SN4700: 1}\n", "1:11 `euro` is not a valid currency"),
        ("prices: {NVIDIA SN4700: 1}\n", "1:1 the currency is missing"),
        ("currency: EUR\n", "1:1 there are no prices"),
        ("currency: EUR\nprices: {NVIDIA SN4700: -1}\n", "2:25 `-1` is not a valid price of 'NVIDIA SN4700'"),
        ("currency: EUR\nprices: {NVIDIA SN4700: 1e6}\n", "2:25 `1e6` is not a valid price of 'NVIDIA SN4700'"),
        ("currency: EUR\nprices:\n  NVIDIA SN4700:\n", "3:3 'NVIDIA SN4700' has no price"),
        ("currency: EUR\nprice: {NVIDIA SN4700: 1}\n", "2:1 unknown key `price`"),
    ],
)
def test_a_faulty_file_of_prices_is_refused_at_its_place(
    text: str, expected: str, tmp_path: Path, reference: Callable[[str], Bill]
) -> None:
    found = reference("pod-32.yml")
    with pytest.raises(RefusedError) as refused:
        priced(found, read_prices(prices(tmp_path, text)), found.lines)
    found_at = {
        f"{one.where.line}:{one.where.column} {one.message}": one for one in refused.value.diagnostics if one.where
    }
    assert expected in found_at
    assert all(one.code == "RW018" and one.fix for one in found_at.values())


@pytest.mark.parametrize(("text", "said"), [("", "is empty"), ("- 5\n", "is a list, not a mapping of keys")])
def test_a_file_of_prices_without_a_key_is_not_called_an_intent(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        read_prices(prices(tmp_path, text))
    [only] = refused.value.diagnostics
    assert (only.message, only.fix) == (f"the file of prices {said}", "begin with `currency: EUR`")


def test_a_file_of_prices_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RailweaveError, match="No such file or directory"):
        read_prices(tmp_path / "absent.yml")
