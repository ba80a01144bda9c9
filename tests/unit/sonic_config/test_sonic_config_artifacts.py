import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from engine_tools import config_db_json

from railweave.errors import RailweaveError, RefusedError
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Overrides
from railweave.report.artifacts import MARKER, blocks_json, replacing, write_artifacts
from railweave.sonic.render.configure import Configurator
from railweave.templates import Templates, find_templates
from railweave.wording import natural_key

Lab = Callable[..., Fabric]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def with_clash(fabric: Fabric) -> Fabric:
    overrides = Overrides({"lab-spine2": {"PORT": {"Ethernet0": {"mtu": "1500"}}}})
    return replace(fabric, policies=fabric.policies._replace(overrides=overrides))


def interrupted(out: Path) -> None:
    with replacing(out) as folder:
        (folder / "b").write_text("2")
        raise KeyboardInterrupt


def test_every_artifact_of_the_fabric_is_written(lab_fabric: Lab, tmp_path: Path) -> None:
    fabric, out = lab_fabric(), tmp_path / "deep" / "out"
    written = write_artifacts(fabric, out, find_templates())
    names = set(contents(out)) - {MARKER}
    assert written == len(names)
    devices = [switch.name for switch in fabric.switches]
    assert {name for name in names if not name.startswith("hosts/")} == {"fabric.json", "cables.csv"} | {
        f"switches/{name}/{file}" for name in devices for file in ("config_db.json", "frr.conf")
    }
    assert {name.split("/")[1] for name in names if name.startswith("hosts/")} == {host.name for host in fabric.hosts}
    assert len(json.loads((out / "fabric.json").read_bytes())["links"]) == len(fabric.links)
    assert len(list(csv.DictReader((out / "cables.csv").read_text().splitlines()))) == len(fabric.links)


def test_config_db_is_sorted_naturally_and_ends_with_a_newline(lab_fabric: Lab, tmp_path: Path) -> None:
    write_artifacts(lab_fabric(), tmp_path / "out", find_templates())
    raw = (tmp_path / "out" / "switches" / "lab-leaf1" / "config_db.json").read_bytes()
    assert raw.endswith(b"}\n")
    for rows in json.loads(raw).values():
        assert list(rows) == sorted(rows, key=natural_key)
        for fields in rows.values():
            assert list(fields) == sorted(fields, key=natural_key)


def test_the_same_fabric_gives_the_same_bytes_with_one_process_and_with_three(lab_fabric: Lab, tmp_path: Path) -> None:
    for name, processes in (("one", 1), ("three", 3), ("again", 1)):
        write_artifacts(lab_fabric(), tmp_path / name, find_templates(), processes=processes)
    assert contents(tmp_path / "one") == contents(tmp_path / "three") == contents(tmp_path / "again")


def test_a_rendered_folder_is_replaced_as_a_whole(lab_fabric: Lab, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_artifacts(lab_fabric(), out, find_templates())
    (out / "switches" / "old-leaf9").mkdir()
    write_artifacts(lab_fabric(), out, find_templates())
    assert not (out / "switches" / "old-leaf9").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_is_taken(lab_fabric: Lab, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert write_artifacts(lab_fabric(), tmp_path / "out", find_templates(), hosts=False) == 10
    assert not (tmp_path / "out" / "hosts").exists()


def test_a_folder_with_foreign_files_is_left_alone(lab_fabric: Lab, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(RailweaveError, match="did not write"):
        write_artifacts(lab_fabric(), tmp_path, find_templates())
    assert contents(tmp_path) == {"thesis.txt": b"years of work"}


def test_a_file_is_not_taken_for_a_folder(lab_fabric: Lab, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(RailweaveError, match="is a file"):
        write_artifacts(lab_fabric(), tmp_path / "out", find_templates())


@pytest.mark.parametrize("processes", [1, 2])
def test_a_refusal_leaves_what_was_there(lab_fabric: Lab, tmp_path: Path, processes: int) -> None:
    out = tmp_path / "out"
    write_artifacts(lab_fabric(), out, find_templates())
    before = contents(out)
    with pytest.raises(RefusedError, match="lab-spine2"):
        write_artifacts(with_clash(lab_fabric()), out, find_templates(), processes=processes)
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_broken_template_in_a_process_is_told_as_such(lab_fabric: Lab, tmp_path: Path) -> None:
    (tmp_path / "templates" / "frr").mkdir(parents=True)
    (tmp_path / "templates" / "frr" / "frr.conf.j2").write_text("{{ nothing }}")
    with pytest.raises(RailweaveError, match=r"frr\.conf\.j2"):
        write_artifacts(lab_fabric(), tmp_path / "out", find_templates(tmp_path), processes=2)
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_is_named(lab_fabric: Lab, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RailweaveError, match="cannot be written"):
        write_artifacts(lab_fabric(), tmp_path / "file" / "out", find_templates())


def test_an_interrupt_leaves_the_old_folder(tmp_path: Path) -> None:
    with replacing(tmp_path / "out") as folder:
        (folder / "a").write_text("1")
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "out")
    assert set(contents(tmp_path / "out")) == {MARKER, "a"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_nothing_is_read_before_a_template_is_needed() -> None:
    assert Templates([Path("/nowhere")]).folders == (Path("/nowhere"),)


def test_what_switches_share_is_written_as_if_it_stood_alone(lab_fabric: Callable[..., Fabric]) -> None:
    for extra in ("", "overrides: {leaf: {SYSLOG_SERVER: {10.9.9.9: {}}}}\n"):
        fabric = lab_fabric(extra)
        configurator = Configurator(fabric, find_templates())
        for switch in fabric.switches:
            assert blocks_json(configurator.blocks(switch)) == config_db_json(configurator.device(switch))
