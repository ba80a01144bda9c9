"""A project's own models: found beside its intent, offered like ours, and refused with the place of a mistake."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railweave import api
from railweave.api.project import open_project
from railweave.catalog.load import load_catalog, use_own_models
from railweave.catalog.own import read_nics, read_switch
from railweave.cli import completion
from railweave.cli.main import main
from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "own-models.md"
BLOCKS = re.findall(r"```json\n# catalog/.*?\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
SWITCH, NICS = (json.loads(one.replace("4,5,6,7", "5,6,7,8")) for one in BLOCKS)
LOSSY = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [26], priority: 3, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""
INTENT = f"""
fabric: own
workload: {{kind: inference}}
nodes: [{{name: gpu, count: 2, gpus: 1, nics: {{count: 1, speed: 400G, model: acme-nic}}}}]
topology:
  stripe: 2
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {{model: acme-4, count: 1}}
  spine: {{model: acme-4, count: 1}}
{LOSSY}
"""


def test_the_tables_of_the_page_are_the_rows_of_its_switch() -> None:
    text = PAGE.read_text(encoding="utf-8")
    platform, table = (
        re.search(rf"```\w+\n# sonic/{name}\n(.*?)```", text, re.S)
        for name in (r"platform\.json", r"pg_profile_lookup\.ini")
    )
    assert platform
    assert table
    ports = json.loads(platform[1])["interfaces"]
    cages = [
        [number, int(port["index"][0]), name, port["lanes"]] for number, (name, port) in enumerate(ports.items(), 1)
    ]
    assert cages == SWITCH["cages"]
    modes = {mode for port in ports.values() for mode in port["breakout_modes"]}
    assert modes == {mode for mode, *_ in SWITCH["breakout_modes"]}
    header = [line for line in table[1].splitlines() if line.startswith("#")][-1]
    columns = header.removeprefix("#").split()
    assert columns == ["speed", "cable", "size", "xon", "xoff", "threshold", "xon_offset"]
    assert re.findall(r"^\| `(\w+)` \| (?:Gb/s|m|bytes|exponent) \|", text, re.M) == columns
    rows = [line.split() for line in table[1].splitlines() if not line.startswith("#")]
    expected = [[int(speed) // 1000, int(cable[:-1]), *map(int, rest)] for speed, cable, *rest in rows]
    assert expected == SWITCH["hwskus"][0]["pg_profiles"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project from `railweave init` with the page's own switch and NIC, in which the test runs."""
    folder = tmp_path / "fabric"
    assert main(["init", str(folder), "--template", "minimal"]) == 0
    (folder / "catalog" / "switches").mkdir(parents=True)
    (folder / "catalog" / "switches" / "acme-4.json").write_text(json.dumps(SWITCH, indent=1), encoding="utf-8")
    (folder / "catalog" / "nics.json").write_text(json.dumps(NICS), encoding="utf-8")
    (folder / "intent" / "fabric.yml").write_text(INTENT, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("railweave.catalog.load._Used.own", (None, ()))
    return folder


def faults(project: Path, change: Callable[[Any], None]) -> tuple[Diagnostic, ...]:
    """Return what is wrong with the own switch after a change of its file."""
    document = json.loads(json.dumps(SWITCH))
    change(document)
    path = project / "catalog" / "switches" / "acme-4.json"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    with pytest.raises(RefusedError) as refused:
        read_switch(path)
    return tuple(refused.value.diagnostics)


def test_every_command_finds_the_models_of_the_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0, capsys.readouterr()
    assert main(["render", "--out", "out"]) == 0
    ports = json.loads((project / "out" / "switches" / "own-leaf1" / "config_db.json").read_text())["PORT"]
    assert ports["Ethernet4"]["lanes"] == "5,6,7,8"
    assert main(["size"]) == 0
    capsys.readouterr()
    assert main(["models", "acme-4", "--json"]) == 0
    (switch,) = json.loads(capsys.readouterr().out)["switches"]
    assert [(one["speed_gbps"], one["ports"], one["lossless_m"]) for one in switch["speeds"]] == [
        (400, 4, 300),
        (200, 8, 40),
    ]
    assert {"acme-4", "acme-nic", "nvidia-sn5600"} <= set(completion.models())
    offered = json.dumps(api.schema("intent"))
    assert '"acme-4"' in offered
    assert '"acme-nic"' in offered


def test_another_folder_has_no_models_of_the_project(project: Path, tmp_path: Path) -> None:
    open_project()
    assert "acme-4" in load_catalog().switch_ids()
    assert load_catalog() is load_catalog()
    use_own_models(tmp_path / "elsewhere")
    assert "acme-4" not in load_catalog().switch_ids()
    assert "acme-nic" not in load_catalog().nic_ids()


def test_a_changed_file_is_read_again(project: Path) -> None:
    open_project()
    assert load_catalog().switch("acme-4").title == "Acme 4"
    path = project / "catalog" / "switches" / "acme-4.json"
    path.write_text(json.dumps({**SWITCH, "title": "Acme Four"}), encoding="utf-8")
    open_project()
    assert load_catalog().switch("acme-4").title == "Acme Four"


@pytest.mark.parametrize(
    ("file", "document"),
    [
        ("switches/nvidia-sn5600.json", {**SWITCH, "id": "nvidia-sn5600"}),
        ("nics.json", {"nics": {"connectx-7": NICS["nics"]["acme-nic"]}}),
    ],
)
def test_an_id_of_our_catalog_is_refused(
    file: str, document: object, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "catalog" / file).write_text(json.dumps(document), encoding="utf-8")
    name = "connectx-7" if file == "nics.json" else "nvidia-sn5600"
    assert main(["check"]) == 1
    printed = capsys.readouterr()
    shown = " ".join((printed.out + printed.err).split())
    assert f"error[RW017]: `{name}` is a model of railweave's own catalog --> catalog/{file}:1:1" in shown
    assert f"fix: give it an id of its own, such as my-{name}" in shown


MISTAKES: dict[str, tuple[Callable[[Any], None], str, str]] = {
    "lane": (
        lambda d: d["cages"].__setitem__(1, [2, 2, "Ethernet4", "4,5,6,7"]),
        "cages[0]",
        "lane 4 is",
    ),
    "lanes": (
        lambda d: d["cages"].__setitem__(3, [4, 4, "Ethernet12", "13,14"]),
        "cages[3]",
        "2 lanes, all cages have 4",
    ),
    "name": (lambda d: d["cages"].__setitem__(3, [4, 4, "Ethernet0", "25"]), "cages[0]", "not the name of one port"),
    "number": (lambda d: d["cages"].pop(0), "cages[0]", "cages count from 1"),
    "aliases": (lambda d: d["breakout_modes"][1][1].pop(), "breakout_modes[1]", "2x200G has 2 ports and 1 aliases"),
    "alias": (lambda d: d["breakout_modes"][0][1].__setitem__(0, "{x}"), "breakout_modes[0]", "{port} only"),
    "mode": (lambda d: d["breakout_modes"][0].__setitem__(0, "two"), "breakout_modes[0]", "is not a breakout mode"),
    "native": (
        lambda d: d["breakout_modes"][0].__setitem__(0, "4x100G"),
        "hwskus[0]",
        "1x400G is not one of its breakout",
    ),
    "text": (lambda d: d["cages"][0].__setitem__(3, "1,b"), "cages[0][3]", "String should match pattern"),
    "sum": (lambda d: d["breakout_modes"][1].__setitem__(0, "2x200G(16)"), "breakout_modes[1]", "does not divide"),
    "speed": (lambda d: d["hwskus"][0].__setitem__("speed_gbps", 800), "hwskus[0]", "do not fit a cage's lanes"),
    "id": (lambda d: d.__setitem__("id", "acme"), "id", "it has to be the file's name, `acme-4`"),
    "type": (lambda d: d["cage_type"].__setitem__("lanes", "8"), "cage_type.lanes", "Input should be a valid integer"),
    "missing": (lambda d: d.pop("platform"), "platform", "platform: the field is missing"),
    "unknown": (lambda d: d.__setitem__("lane", 8), "lane", "lane: there is no such field"),
    "row": (lambda d: d["cages"][0].append(1), "cages[0]", "should have at most 4 items"),
    "set": (
        lambda d: d["hwskus"][0].update(buffer_sets=[["BALANCED", ["t1"]]], buffer_set="RDMA-CENTRIC"),
        "hwskus[0]",
        "buffer_set `RDMA-CENTRIC` is not one of its buffer_sets: BALANCED",
    ),
    "sets": (
        lambda d: d["hwskus"][0].update(buffer_sets=[["BALANCED", ["t1"]], ["BALANCED", ["t0"]]]),
        "hwskus[0]",
        "buffer_sets names a set twice: BALANCED and BALANCED",
    ),
    "slices": (
        lambda d: d["asic"].update(slices={"total": 1, "of_port": 2}),
        "asic.slices",
        "a port uses at least one slice",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_at_its_place(mistake: str, project: Path) -> None:
    change, path, words = MISTAKES[mistake]
    found = faults(project, change)
    assert any(one.where.path == path and words in one.message for one in found), found
    assert {one.code for one in found} == {"RW017"}
    assert all(one.where.line >= 1 and one.where.column >= 1 and one.fix for one in found)


def test_the_place_of_a_mistake_is_its_line_and_column(project: Path) -> None:
    (found,) = faults(project, lambda document: document["cage_type"].__setitem__("lane_gbps", None))
    text = (project / "catalog" / "switches" / "acme-4.json").read_text(encoding="utf-8").splitlines()
    assert text[found.where.line - 1][found.where.column - 1 :].startswith("null")


def test_a_file_that_is_no_json_is_refused_at_its_line(project: Path) -> None:
    path = project / "catalog" / "nics.json"
    path.write_text('{\n "nics": {]\n}', encoding="utf-8")
    with pytest.raises(RefusedError) as refused:
        read_nics(path)
    (found,) = refused.value.diagnostics
    assert (found.where.line, found.where.column) == (2, 11)


def test_a_nic_that_runs_on_no_lanes_is_refused(project: Path) -> None:
    nic = {**NICS["nics"]["acme-nic"], "combinations": [[1, 400, [100]], [1, 300, [100]]]}
    path = project / "catalog" / "nics.json"
    path.write_text(json.dumps({"nics": {"acme-nic": nic}}), encoding="utf-8")
    with pytest.raises(RefusedError) as refused:
        read_nics(path)
    assert [one.where.path for one in refused.value.diagnostics] == ["nics.acme-nic.combinations[1]"]


@pytest.mark.parametrize("model_id", ["nokia-ixr7220-h4-64d", "nvidia-sn5600", "connectx-8"])
def test_the_file_of_a_model_of_ours_is_a_start_for_an_own_one(
    model_id: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", model_id, "--file"]) == 0
    text = capsys.readouterr().out.replace(f'"{model_id}"', '"mine"', 1)
    if model_id == "connectx-8":
        (project / "catalog" / "nics.json").write_text(text, encoding="utf-8")
        assert read_nics(project / "catalog" / "nics.json")["mine"].find(8, 100)
    else:
        path = project / "catalog" / "switches" / "mine.json"
        path.write_text(text, encoding="utf-8")
        assert len(read_switch(path).cages) == 64
