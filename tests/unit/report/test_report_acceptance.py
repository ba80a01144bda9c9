"""Verdicts of acceptances for the terminal, as Markdown and on the page of a fabric."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from acceptance_fabrics import FABRICS
from acceptance_faults.carry_out import carry_out
from acceptance_faults.nature import Conditions
from acceptance_trials import prepared
from rich.console import Console

from railweave import api
from railweave.acceptance.judge.verdict import AcceptanceVerdict
from railweave.api.design.intent import load_designed
from railweave.report.acceptance import acceptance_markdown, acceptance_view
from railweave.report.page.acceptance_section import acceptance_section


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return results of a fabric of 12 nodes with a NIC of half its width."""
    folder = prepared(tmp_path_factory.mktemp("acceptance") / "plan", "rail-only")
    carry_out(folder, Conditions(slow_nic={("gpu9", 2): 0.5}), 1)
    return folder


@pytest.fixture(scope="module")
def verdict(folder: Path) -> AcceptanceVerdict:
    return api.acceptance.judgement(folder, "").verdict


def test_the_terminal_names_the_culprit_the_limits_and_the_verdict(verdict: AcceptanceVerdict) -> None:
    console = Console(width=200, color_system=None)
    with console.capture() as captured:
        console.print(acceptance_view(verdict))
    lines = captured.get()
    assert "nic gpu9 rail2" in lines
    assert "line_gbps * packet_bytes / (packet_bytes + overhead_bytes)" in lines
    assert lines.splitlines()[-1].startswith("✗ not accepted: ")


def test_markdown_has_a_table_of_each(verdict: AcceptanceVerdict) -> None:
    markdown = acceptance_markdown(verdict)
    assert markdown.startswith("## Acceptance of rails\n\n**failed**: not accepted: ")
    for header in (
        "| finding | to blame | what | fix |",
        "| tests | passed | failed | not run |",
        "| limit of | metric |",
    ):
        assert header in markdown


def test_the_page_shows_pairs_rounds_links_and_limits(folder: Path, tmp_path: Path) -> None:
    intent = tmp_path / "rails.yml"
    intent.write_text(FABRICS["rail-only"])
    page = tmp_path / "page.html"
    api.report(api.open_project(intent), page, acceptance=folder)
    html = page.read_text()
    for caption in ("Pairs: senders down", "Bandwidth by round", "Load of links", "Tests by kind", "Limits", "Rules"):
        assert caption in html
    assert html.count('<text class="heading"') == 4, "a matrix for each rail"
    assert 'class="bad"' in html, "pairs of the slow NIC"
    assert "heat-4" in html


def test_marks_are_in_the_order_of_the_finding(folder: Path, tmp_path: Path) -> None:
    intent = tmp_path / "rails.yml"
    intent.write_text(FABRICS["rail-only"])
    fabric = load_designed(intent).fabric
    judgement = api.acceptance.judgement(folder, "")
    devices = tuple(sorted(fabric.ports_of, reverse=True))
    cables = tuple(link.cable for link in judgement.verdict.plan.links)
    finding = judgement.verdict.findings[0]._replace(devices=devices, nodes=devices[:3], cables=cables)
    verdict = replace(judgement.verdict, findings=(finding,))
    marks = acceptance_section(fabric, verdict, judgement.loads).marks
    assert tuple(marks.devices) == devices
    assert tuple(marks.cables) == tuple((link.upper.device, link.lower.device) for link in verdict.plan.links)
    assert {len(of_device) for of_device in marks.devices.values()} == {1}


@pytest.mark.slow
def test_no_test_is_drawn_beyond_what_its_nic_ports_carry(tmp_path: Path) -> None:
    # The limits of pairs that share uplinks expect less than most of them reach.
    folder = prepared(tmp_path / "plan", "two-planes")
    carry_out(folder, Conditions(), 1)
    intent = tmp_path / "planes.yml"
    intent.write_text(FABRICS["two-planes"])
    api.report(api.open_project(intent), tmp_path / "page.html", acceptance=folder)
    loaded = re.findall(r"loaded: [\d,]+ tests? at ([\d.]+)%", (tmp_path / "page.html").read_text())
    assert 0 < max(map(float, loaded)) < 101
