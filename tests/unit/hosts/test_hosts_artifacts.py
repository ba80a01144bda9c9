"""Nodes among the artifacts: shared files are linked, very many nodes are left out."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.cli.main import main
from railweave.fabric.model import Fabric
from railweave.hosts.render import HostRenderer
from railweave.report.artifacts import MOST_HOST_PORTS, write_artifacts, write_hosts, writes_hosts
from railweave.templates import find_templates

Pod = Callable[..., Fabric]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_node_is_written_as_it_is_rendered(pod: Pod, tmp_path: Path) -> None:
    fabric = pod()
    write_hosts(HostRenderer(fabric, find_templates()), fabric.hosts, tmp_path)
    for host in fabric.hosts:
        assert contents(tmp_path / host.name) == HostRenderer(fabric, find_templates()).files(host)
    assert os.access(tmp_path / "gpu1" / "railweave-host", os.X_OK)


def test_what_nodes_share_is_one_file(pod: Pod, tmp_path: Path) -> None:
    fabric = pod()
    write_hosts(HostRenderer(fabric, find_templates()), fabric.hosts, tmp_path)
    assert (tmp_path / "gpu1/sysctl.conf").samefile(tmp_path / "gpu8/sysctl.conf")
    assert not (tmp_path / "gpu1/rails.json").samefile(tmp_path / "gpu8/rails.json")


def test_a_file_system_without_links_gets_copies(pod: Pod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    fabric = pod()
    write_hosts(HostRenderer(fabric, find_templates()), fabric.hosts, tmp_path)
    assert contents(tmp_path / "gpu8") == HostRenderer(fabric, find_templates()).files(fabric.hosts[7])


def test_thousands_of_nodes_are_written_only_when_asked_for(pod: Pod, tmp_path: Path) -> None:
    fabric = pod()
    many = replace(fabric, hosts=fabric.hosts * (MOST_HOST_PORTS // (4 * len(fabric.hosts)) + 1))
    assert writes_hosts(fabric)
    assert not writes_hosts(many)
    write_artifacts(many, tmp_path / "out", find_templates())
    assert not (tmp_path / "out/hosts").exists()


def test_render_writes_nodes_or_leaves_them_out_as_told(
    intent_text: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pod.yml").write_text(intent_text())
    assert main(["render", "pod.yml", "--out", "all"]) == 0
    assert "and 8 nodes in all" in capsys.readouterr().out
    assert len(list(Path("all/hosts").iterdir())) == 8
    assert main(["render", "pod.yml", "--out", "few", "--no-hosts"]) == 0
    assert not Path("few/hosts").exists()
