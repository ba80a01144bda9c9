"""All files of a GPU node; `RAILWEAVE_UPDATE_GOLDEN=1` writes them anew."""

import os
import shutil
from pathlib import Path

import pytest
import yaml

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.hosts.places import PROGRAMS
from railweave.hosts.render import HostRenderer
from railweave.intent.load import load_intent
from railweave.templates import find_templates

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parents[2] / "intent"
CASES = (
    (REFERENCE / "lab-4.yml", "gpu1"),
    (HERE.parent / "sonic_config" / "intents" / "lab-rails.yml", "gpu1"),
    (HERE.parent / "sonic_config" / "intents" / "dual-tor.yml", "gpu2"),
    (HERE.parent / "sonic_config" / "intents" / "lossy-planes.yml", "gpu2"),
    (REFERENCE / "pod-32.yml", "gpu32"),
    (HERE / "intents" / "broadcom.yml", "gpu2"),
    (HERE / "intents" / "rack.yml", "gpu8"),
    (HERE / "intents" / "nic-counters.yml", "gpu3"),
    (REFERENCE / "lab-dual.yml", "gpu2"),
    (REFERENCE / "lab-ipv6.yml", "gpu2"),
    (HERE / "intents" / "ipv6-rdma.yml", "gpu3"),
)


def designed(path: Path) -> Fabric:
    fabric = design(load_intent(path), load_catalog()).fabric
    assert fabric is not None, path
    return fabric


@pytest.mark.parametrize(("path", "name"), CASES, ids=lambda value: getattr(value, "stem", value))
def test_a_node_has_the_files_as_recorded(path: Path, name: str) -> None:
    fabric = designed(path)
    files = {
        file: content
        for file, content in HostRenderer(fabric, find_templates()).files(fabric.host_of[name]).items()
        if file not in PROGRAMS  # the same everywhere, and modules with tests of their own
    }
    recorded = HERE / "expected" / path.stem / name
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        shutil.rmtree(recorded, ignore_errors=True)
        for file, content in files.items():
            (recorded / file).parent.mkdir(parents=True, exist_ok=True)
            (recorded / file).write_bytes(content)
    held = {str(file.relative_to(recorded)): file.read_bytes() for file in recorded.rglob("*") if file.is_file()}
    assert sorted(held) == sorted(files)
    for file, content in files.items():
        assert held[file] == content, f"{recorded / file} differs"


@pytest.mark.parametrize(("path", "name"), CASES, ids=lambda value: getattr(value, "stem", value))
def test_netplan_and_networkd_say_the_same(path: Path, name: str) -> None:
    fabric = designed(path)
    files = HostRenderer(fabric, find_templates()).files(fabric.host_of[name])
    interfaces = yaml.safe_load(files["netplan.yaml"])["network"]["ethernets"]
    networkd = {
        file.removeprefix("networkd/10-railweave-").removesuffix(".network"): content.decode().splitlines()
        for file, content in files.items()
        if file.endswith(".network")
    }
    assert sorted(interfaces) == sorted(networkd)
    for rail, plan in interfaces.items():
        to = {"default": "0.0.0.0/0"}
        for line in (
            f"MTUBytes={plan['mtu']}",
            *(f"Address={one}" for one in plan["addresses"]),
            *(f"Gateway={one['via']}" for one in plan["routes"]),
            *(f"Table={one['table']}" for one in plan["routes"] if "table" in one),
            *(f"Destination={to.get(one['to'], one['to'])}" for one in plan["routes"]),
            *(f"Metric={one['metric']}" for one in plan["routes"] if "metric" in one),
            *(f"From={rule['from']}" for rule in plan["routing-policy"]),
            *(f"Priority={rule['priority']}" for rule in plan["routing-policy"]),
            f"LinkLocalAddressing={''.join(filter(None, plan['link-local'])) or 'no'}",
        ):
            assert line in networkd[rail]
        assert networkd[rail].count("[RoutingPolicyRule]") == len(plan["routing-policy"]) == len(plan["addresses"])
        assert networkd[rail].count("[Route]") == len(plan["routes"])
