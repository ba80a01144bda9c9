"""`railweave models`: what every model can do, lossless up to which cable, what is missing, and its pages."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from railweave import api
from railweave.catalog.load import load_catalog
from railweave.checks.buffers import buffer_findings
from railweave.checks.capability import SpeedUse
from railweave.cli.main import main
from railweave.design.build import design
from railweave.diagnostics import has_errors
from railweave.errors import UsageError
from railweave.intent.load import load_intent_text
from railweave.report.models import models_json, models_page, models_view

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "catalog.md"
POD = """
fabric: pod
workload: {{kind: pretraining}}
nodes: [{{name: gpu, count: {ports}, gpus: 1, nics: {{count: 1, speed: 400G, model: connectx-7}}}}]
topology:
  stripe: {ports}
  oversubscription: "7:1"
  links_per_pair: {links}
  leaf: {{model: {model}, count: 1}}
  spine: {{model: {model}, count: 1}}
cabling: {{host: {{length_m: {length}, media: lr}}, leaf_spine: {{length_m: {length}, media: lr}}}}
"""


def at(model: str, speed_gbps: int) -> SpeedUse:
    (switch,) = api.models(model).switches
    return next(one for one in switch.speeds if one.speed_gbps == speed_gbps)


def test_a_speed_has_its_ports_lanes_breakout_and_longest_lossless_cable() -> None:
    assert at("nokia-ixr7220-h5-64d", 100) == SpeedUse(
        speed_gbps=100,
        ports=320,
        ports_per_cage=8,
        cages=64,
        lanes=1,
        lane_gbps=100,
        breakout="8x100G",
        hwsku="Nokia-IXR7220-H5-64D",
        lossless_m=300,
        missing="",
    )


@pytest.mark.parametrize(
    ("model", "speed_gbps", "missing"),
    [
        ("nokia-ixr7220-h4-64d", 200, "Nokia-IXR7220-H4-64D has no headroom for ports of 200G: its vendor publishes"),
        ("arista-7060x6-64de", 800, "its SONiC ships no pools, no profiles for lossless queues and no headroom"),
        ("nvidia-sn5640", 400, "its SONiC ships no profiles for lossless queues (device/mellanox/"),
        ("quanta-ix9-32x", 200, "its SONiC ships no profiles for lossless queues"),
    ],
)
def test_a_speed_that_cannot_be_lossless_says_what_is_missing(model: str, speed_gbps: int, missing: str) -> None:
    found = at(model, speed_gbps)
    assert found.lossless_m is None
    assert found.missing.startswith(missing)


def test_cages_that_lack_a_mode_are_not_counted() -> None:
    assert (at("quanta-ix9-32x", 200).cages, at("quanta-ix9-32x", 200).ports) == (30, 60)
    assert (at("nvidia-sn4410", 400).cages, at("nvidia-sn4410", 400).ports) == (8, 8)


@pytest.mark.parametrize(("model", "ports"), [("nokia-ixr7220-h4-64d", 56), ("dell-z9664f", 56), ("nvidia-sn4700", 28)])
def test_check_accepts_the_longest_lossless_cable(model: str, ports: int) -> None:
    longest = at(model, 400).lossless_m
    assert longest is not None
    for length, fits in ((longest, True), (longest + 1, False)):
        intent = load_intent_text(POD.format(model=model, ports=ports, links=ports // 7, length=length), "pod.yml")
        fabric = design(intent, load_catalog()).fabric
        assert fabric is not None
        errors = has_errors(buffer_findings(fabric, intent.where))
        assert not errors if fits else errors or longest == 2000


def test_one_model_is_named_by_its_id_and_an_unknown_one_refused() -> None:
    found = api.models("connectx-9")
    assert ([one.id for one in found.nics], found.switches) == (["connectx-9"], ())
    with pytest.raises(UsageError, match=r"no model 'nokia-ixr7220-h564d': did you mean `nokia-ixr7220-h5-64d`\?"):
        api.models("nokia-ixr7220-h564d")


def test_a_nic_whose_ports_are_not_public_is_refused_with_that_text() -> None:
    refused = load_catalog().nic("amd-vulcano").refusal(1, 800)
    assert refused.message == (
        "1x800G ports are not known of AMD Pensando Vulcano: AMD has published 800G Ethernet, not its ports, lanes,"
        " cages and PCIe slot"
    )
    assert refused.fix == "use another NIC; or state its ports in catalog/nics.json of the project"
    split = load_catalog().nic("broadcom-thor-ultra").refusal(2, 400)
    assert split.fix.startswith("it can be 1x800G or 8x100G; or state")


def test_the_command_prints_tables_json_and_one_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "nvidia-sn5600", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in document["switches"]] == ["nvidia-sn5600"]
    assert (document["version"], document["nics"]) == (1, [])
    assert main(["models", "arista-7060x6-64de"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Arista 7060X6-64DE (arista-7060x6-64de): 64 QSFP-DD800, Broadcom Tomahawk5" in shown
    assert "not lossless at 800G: its SONiC ships no pools" in shown
    assert main(["models", "sn5600"]) == 64


@pytest.mark.slow
def test_every_model_has_a_row_and_the_committed_page_is_what_the_code_gives() -> None:
    found = api.models()
    catalog = load_catalog()
    assert [one["id"] for one in models_json(found)["switches"]] == list(catalog.switch_ids())
    text = StringIO()
    Console(width=80, file=text).print(models_view(found))
    shown = text.getvalue()
    assert all(one in shown for one in (*catalog.switch_ids(), *catalog.nic_ids()))
    assert PAGE.read_text(encoding="utf-8") == models_page(found)
    assert sum(any(one.lossless_m for one in switch.speeds) for switch in found.switches) >= 25
