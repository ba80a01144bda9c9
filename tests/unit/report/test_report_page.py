"""The report's page: what it holds, what it says of a plan or a verification, and what is refused."""

import base64
import gzip
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from reference_intents import REFERENCE_INTENTS

from railweave import api
from railweave.drawing.layout import lay_out
from railweave.drawing.leaving import with_leaving
from railweave.drawing.marks import MarkKind
from railweave.drawing.views import FABRIC, scene_of
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.plan.document import plan_json
from railweave.plan.model import Plan
from railweave.plan.outcome import CheckKind, VerifyCheck, VerifyResult
from railweave.plan.rollout import DeviceRecord, JournalLine, Rollout
from railweave.report.documents import versioned
from railweave.report.page.change_sections import drift_section, rollout_section, verification_section
from railweave.report.page.content import Drawing, Grid, Section, Sentences, Words
from railweave.report.page.evidence import Drifted, Verified
from railweave.report.page.plan_section import plan_section
from railweave.report.verification import verify_json

INTENTS = Path(__file__).resolve().parents[3] / "intent"
LAB = INTENTS / "lab-4.yml"
VOID = frozenset({"meta", "link", "input", "rect", "path"})


class Tags(HTMLParser):
    """Every element with its attributes; elements that are not closed are kept as ``open``."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                continue


def written(tmp_path: Path, intent: Path = LAB, **given: Any) -> str:
    out = tmp_path / "fabric.html"
    reported = api.report(api.open_project(intent), out, **given)
    assert reported.size_bytes == out.stat().st_size
    return out.read_text(encoding="utf-8")


def data_of(page: str) -> dict[str, Any]:
    packed = re.search(r'<script type="text/plain" id="data">([^<]+)</script>', page)
    assert packed is not None
    return dict(json.loads(gzip.decompress(base64.b64decode(packed[1]))))


def fabric_of(intent: Path) -> Fabric:
    fabric = api.check(api.open_project(intent)).fabric
    assert fabric is not None
    return fabric


def words(section: Section) -> list[str]:
    return [line.text for part in section.parts if isinstance(part, Sentences) for line in part.lines]


def grid(section: Section, caption: str) -> list[list[str]]:
    found = next(part for part in section.parts if isinstance(part, Grid) and part.caption.startswith(caption))
    return [[cell.text if isinstance(cell, Words) else cell for cell in row] for row in found.rows]


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """Return what gives the page of an intent, written once."""
    return cache(lambda intent: written(tmp_path_factory.mktemp("page"), intent))


@pytest.mark.parametrize(
    "intent",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem == "pods-512" else ())
        for path in REFERENCE_INTENTS
    ],
)
def test_a_page_of_every_intent_is_well_formed_and_points_to_what_is_there(
    intent: Path, page_of: Callable[[Path], str]
) -> None:
    page = page_of(intent)
    tags = Tags(page)
    anchors = {attributes["id"] for _, attributes in tags.found if attributes.get("id")}
    data = data_of(page)
    known = anchors | {f"device-{name}" for name in data["devices"]["name"]} | set(data["pictures"])
    for tag, attributes in tags.found:
        target = attributes.get("href") or ""
        if tag == "a" and not target.startswith("#cables="):
            assert target.removeprefix("#") in known, target
    assert [tag for tag in tags.open if tag not in {"html", "body"}] == []


def test_the_page_loads_nothing_and_allows_only_its_own_script(tmp_path: Path) -> None:
    page = written(tmp_path)
    assert re.search(r'(src|href)="(?!#|data:)', page) is None
    assert "url(" not in page
    script = re.search(r"<script>(.*?)</script>", page, re.S)
    policy = re.search(r"script-src 'sha256-([^']+)'", page)
    assert script is not None
    assert policy is not None
    assert base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode() == policy[1]


@pytest.mark.parametrize("name", ["lab-4", pytest.param("pods-512", marks=pytest.mark.slow)])
def test_the_browser_gets_every_device_and_every_cable(name: str, page_of: Callable[[Path], str]) -> None:
    intent = INTENTS / f"{name}.yml"
    fabric, data = fabric_of(intent), data_of(page_of(intent))
    devices, cables, panels = data["devices"], data["cables"], data["panels"]
    assert devices["name"] == list(fabric.ports_of)
    for number, link in enumerate(fabric.links):
        lower, upper = cables["lower"][number], cables["upper"][number]
        assert (devices["name"][lower], devices["name"][upper]) == (link.lower, link.upper)
        port = panels[devices["panel"][upper]][cables["upperPort"][number]]
        assert port[0] == fabric.ports_of[link.upper][link.upper_port].name
        assert cables["media"][cables["medium"][number]] == link.media
    for picture in data["pictures"].values():
        shown = [
            number for runs in picture["blocks"].values() for first, last in runs for number in range(first, last + 1)
        ]
        assert len(shown) == len(set(shown))


def test_equal_intents_give_equal_pages(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert written(tmp_path) == written(tmp_path / "other")


def test_what_an_intent_names_cannot_become_markup(tmp_path: Path) -> None:
    intent = tmp_path / "lab.yml"
    text = LAB.read_text(encoding="utf-8").replace("name: roce", "name: '<img src=x onerror=alert(1)>'")
    intent.write_text(text, encoding="utf-8")
    try:
        page = written(tmp_path, intent)
    except RefusedError:
        page = ""
    assert "<img" not in page


def grown(tmp_path: Path) -> Plan:
    before, after = (tmp_path / name for name in ("before.yml", "after.yml"))
    text = LAB.read_text(encoding="utf-8")
    before.write_text(text, encoding="utf-8")
    after.write_text(text.replace("count: 2}", "count: 4}", 1), encoding="utf-8")
    assert after.read_text(encoding="utf-8") != text
    return api.diff(api.open_project(after), str(before))


def test_a_plan_is_told_wave_by_wave_and_drawn_on_what_it_changes(tmp_path: Path) -> None:
    plan = grown(tmp_path)
    fabric = fabric_of(tmp_path / "after.yml")
    told = plan_section(fabric, plan, [{"line": "rehearsed: fine", "at": "2026-01-02"}])
    assert words(told.section)[:2] == [
        "lab: adds 2 spines and 4 links; touches 2 leaves without disruption; no renumbering; no QoS change.",
        "rehearsed: fine (2026-01-02)",
    ]
    waves = grid(told.section, "Waves")
    assert sorted(device for wave in plan.waves for device in wave) == sorted(plan.deltas)
    assert len(waves) == len(plan.waves)
    kinds = {name: marks[0].kind for name, marks in told.marks.devices.items()}
    assert kinds == {
        "lab-leaf1": MarkKind.CHANGED,
        "lab-leaf2": MarkKind.CHANGED,
        "lab-spine3": MarkKind.ADDED,
        "lab-spine4": MarkKind.ADDED,
    }
    assert told.marks.cables["lab-spine3", "lab-leaf1"][0].kind is MarkKind.ADDED


def test_the_waves_of_a_plan_are_drawn_as_long_as_they_took_in_a_rehearsal(tmp_path: Path) -> None:
    plan = grown(tmp_path)
    fabric = fabric_of(tmp_path / "after.yml")
    took = [{"devices": list(wave), "elapsed_s": 10.0 * number} for number, wave in enumerate(plan.waves, start=1)]
    rehearsed = {"line": "rehearsed: fine", "at": "2026-01-02", "waves": took}
    other = {"line": "rehearsed: stopped", "at": "2026-01-02", "waves": took[:1]}
    for documents, caption, seconds in (
        ((), "Waves, in their order", ""),
        ((other,), "Waves, in their order", ""),
        ((other, rehearsed), "Waves, as long as each took on simulated switches", " 10 s"),
    ):
        [drawn] = [one for one in plan_section(fabric, plan, documents).section.parts if isinstance(one, Drawing)]
        assert drawn.caption == caption
        assert f">1:{seconds}<" in drawn.svg if seconds else ">1<" in drawn.svg
        for number, wave in enumerate(plan.waves, start=1):
            assert f'aria-label="wave {number}: ' in drawn.svg
            assert len(wave) > 1 or f'href="#device-{wave[0]}"' in drawn.svg


def test_a_switch_that_leaves_is_drawn_with_the_cables_that_it_loses(tmp_path: Path) -> None:
    before, after = (tmp_path / name for name in ("before.yml", "after.yml"))
    text = LAB.read_text(encoding="utf-8")
    before.write_text(text.replace("count: 2}", "count: 4}", 1), encoding="utf-8")
    after.write_text(text, encoding="utf-8")
    plan = api.diff(api.open_project(after), str(before))
    told = plan_section(fabric_of(after), plan, ())
    assert {name for name, marks in told.marks.devices.items() if marks[0].kind is MarkKind.REMOVED} == {
        "lab-spine3",
        "lab-spine4",
    }
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan_json(plan)), encoding="utf-8")
    picture = data_of(written(tmp_path, after, plan=file))["pictures"]["fabric"]
    assert picture["blocks"]["leaving-lab-spine3"] == []
    assert picture["svg"].count("no longer in the intent") >= 4
    assert "cables=leaving" not in picture["svg"]
    scene = with_leaving(scene_of(fabric_of(after), FABRIC), fabric_of(after), told.leaving)
    spines = [block for block in scene.blocks if block.band == 0]
    assert [block.title for block in spines] == ["spine1", "spine2", "spine3", "spine4"]
    gone = [(one.upper, one.lower, one.title) for one in scene.bundles if one.upper.startswith("leaving")]
    assert len(gone) == 4
    assert {title for _, _, title in gone} == {"1 cable"}


STRIPES = """
fabric: rows
workload: {kind: inference}
nodes:
  - {name: gpu, count: COUNT, gpus: 2, nics: {count: 2, speed: 100G, model: connectx-6, pcie: gen4x16}}
topology:
  rails: 2
  stripe: 2
  links_per_pair: 1
  oversubscription: "1:1"
  leaf: {model: sonic-vs, count: COUNT, downlink_speed: 100G, uplink_speed: 100G}
  spine: {model: sonic-vs, count: 2}
"""
PODS = (INTENTS / "lab-pods.yml").read_text(encoding="utf-8")
FEWER = (("count: 8", "count: 6"), ("sonic-vs, count: 4}", "sonic-vs, count: 2}"), ("2:1", "4:1"))


@pytest.mark.parametrize(
    ("before", "changes", "columns"),
    [
        # A spine less in each pod, and two nodes of one pod.
        (PODS, FEWER, {"labpods-spine2": "pod 0", "labpods-spine30": "pod 1", "gpu7": "pod 1", "gpu8": "pod 1"}),
        # A stripe: only the spines, which belong to all stripes, were neighbors of its leaves and are still there.
        (
            STRIPES.replace("COUNT", "6"),
            (("count: 6", "count: 4"),),
            {"rows-leaf5": "no longer in the intent", "rows-leaf6": "no longer in the intent"},
        ),
    ],
    ids=["pods", "stripes"],
)
def test_devices_that_leave_cover_no_others(
    before: str, changes: tuple[tuple[str, str], ...], columns: dict[str, str], tmp_path: Path
) -> None:
    base, file = tmp_path / "before.yml", tmp_path / "after.yml"
    after = before
    for old, new in changes:
        after = after.replace(old, new)
    base.write_text(before, encoding="utf-8")
    file.write_text(after, encoding="utf-8")
    fabric = fabric_of(file)
    told = plan_section(fabric, api.diff(api.open_project(file), str(base)), ())
    picture = lay_out(with_leaving(scene_of(fabric, FABRIC), fabric, told.leaving))
    titles = picture.scene.columns
    gone = [one for one in picture.scene.blocks if one.key.startswith("leaving-")]
    assert {one.devices[0]: titles[one.column] for one in gone if one.column is not None} == columns
    assert [frame.title for frame in picture.frames] == list(titles)
    for one, other in combinations(picture.boxes, 2):
        beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert beside or one.y + one.height <= other.y or other.y + other.height <= one.y, (one, other)


def test_a_disruptive_wave_says_what_is_left(tmp_path: Path) -> None:
    after = tmp_path / "after.yml"
    text = LAB.read_text(encoding="utf-8")
    after.write_text(text + "mtu: {fabric: 8000, hosts: 4200}\n", encoding="utf-8")
    plan = api.diff(api.open_project(after), str(LAB))
    told = plan_section(fabric_of(LAB), plan, ())
    waves = grid(told.section, "Waves")
    assert [row[1:2] + row[3:] for row in waves] == [
        ["lab-spine1", "1 switch", "1 switch", "50 %", "1", "0"],
        ["lab-spine2", "1 switch", "1 switch", "50 %", "1", "0"],
        ["lab-leaf1", "1 switch", "", "100 %", "", "1"],
        ["lab-leaf2", "1 switch", "", "100 %", "", "1"],
    ]
    assert {marks[0].kind for marks in told.marks.devices.values()} == {MarkKind.DISTURBED}


def test_a_failed_check_is_drawn_on_its_device_and_its_cable(tmp_path: Path) -> None:
    fabric = fabric_of(LAB)
    link = fabric.fabric_links[0]
    port = fabric.ports_of[link.lower][link.lower_port].name
    checks = (
        VerifyCheck(link.lower, CheckKind.LINK, port, "up", "enabled, down", False),
        VerifyCheck("lab-spine2", CheckKind.REACHABLE, "lab-spine2", "reachable", "no route", False),
        VerifyCheck("lab-leaf2", CheckKind.MTU, "Ethernet0", "9100", "9100", True),
    )
    document = versioned(verify_json(VerifyResult(checks)))
    told = verification_section(fabric, Verified.model_validate(document))
    assert words(told.section) == ["2 of 3 checks failed"]
    assert told.marks.devices["lab-spine2"][0].kind is MarkKind.UNREACHABLE
    assert told.marks.devices[link.lower][0].text == f"link {port}: enabled, down, expected up"
    assert list(told.marks.cables) == [(link.upper, link.lower)]
    assert grid(told.section, "Checks by kind") == [["link", "0", "1"], ["reachable", "0", "1"], ["mtu", "1", "0"]]


def test_a_verification_without_a_failure_marks_nothing() -> None:
    told = verification_section(fabric_of(LAB), Verified(version=1, ok=True, checks=()))
    assert words(told.section) == ["0 checks passed"]
    assert not told.marks.devices


def test_drift_is_drawn_where_it_is() -> None:
    row = {"op": "update", "table": "PORT", "key": "Ethernet0", "field": "mtu", "before": "9100", "after": "1500"}
    document = {
        **{"version": 1, "fabric": "lab", "target": "sim", "drift": True},
        "devices": {"lab-leaf1": {"state": "changed"}, "lab-leaf2": {"state": "unreachable", "error": "timed out"}},
        "changes": [{"device": "lab-leaf1", "disruption": "flap", **row}],
    }
    told = drift_section(Drifted.model_validate(document))
    assert words(told.section) == ["1 difference on 1 device"]
    assert {name: marks[0].text for name, marks in told.marks.devices.items()} == {
        "lab-leaf1": "1 difference",
        "lab-leaf2": "timed out",
    }
    assert grid(told.section, "Differences") == [["lab-leaf1", "PORT|Ethernet0", "mtu", "9100", "1500", "flap"]]


def test_a_rollout_tells_the_end_of_every_device() -> None:
    rollout = Rollout(
        "20260101T000000Z-lab-abcdef",
        Path("journal"),
        fabric="lab",
        devices={
            "lab-leaf1": DeviceRecord(wave=1, outcome="new"),
            "lab-leaf2": DeviceRecord(wave=2, outcome="old", error="no session"),
            "lab-spine1": DeviceRecord(wave=3, outcome=""),
            "lab-spine2": DeviceRecord(wave=3),
        },
        stopped=True,
        stopped_by="a device failed",
        entries=(JournalLine("2026-01-01T00:00:00Z", "commit", "lab-leaf1", "sent", {}),),
    )
    told = rollout_section(rollout)
    assert words(told.section)[1] == "stopped: a device failed"
    assert {name: marks[0] for name, marks in told.marks.devices.items()} == {
        "lab-leaf1": (MarkKind.DONE, "committed"),
        "lab-leaf2": (MarkKind.FAILED, "not committed: no session"),
        "lab-spine1": (MarkKind.FAILED, "in doubt"),
    }
    assert grid(told.section, "Journal") == [["2026-01-01 00:00:00", "commit", "lab-leaf1", "sent"]]


def test_a_page_with_a_plan_and_a_verification_has_both_and_their_colors(tmp_path: Path) -> None:
    plan = grown(tmp_path)
    file, checks = tmp_path / "plan.json", tmp_path / "verify.json"
    file.write_text(json.dumps(plan_json(plan)), encoding="utf-8")
    failed = VerifyCheck("lab-leaf1", CheckKind.BGP, "10.0.0.1", "established", "idle", False)
    checks.write_text(json.dumps(versioned(verify_json(VerifyResult((failed,))))), encoding="utf-8")
    page = written(tmp_path, tmp_path / "after.yml", plan=file, verification=checks)
    assert "<h2>Topology with the plan and the verification</h2>" in page
    legend = re.findall(r'<li><span class="mark-(\w+)">', page)
    assert legend == ["failed", "changed", "added"]
    assert data_of(page)["marks"]


@pytest.mark.parametrize("given", ["plan", "verification", "drift"])
def test_a_file_that_is_not_there_is_named(given: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.json cannot be read: .*name a file"):
        written(tmp_path, **{given: tmp_path / "absent.json"})


@pytest.mark.parametrize(
    ("given", "text", "refusal"),
    [
        ("verification", "[]", "Input should be an object; name a file that `railweave verify --json` printed"),
        ("verification", '{"version": 1}', "ok: Field required; name a file that `railweave verify --json` printed"),
        ("drift", "{", "name a file that `railweave drift --json` printed"),
        (
            "verification",
            '{"version": 9, "ok": true, "checks": []}',
            "is of version 9, this is version 1; name a file that `railweave verify --json` printed of this release",
        ),
        (
            "drift",
            '{"version": 1, "fabric": "pod1", "target": "", "drift": false, "devices": {}, "changes": []}',
            "is of fabric 'pod1', the intent is of 'lab'",
        ),
        (
            "verification",
            '{"version": 1, "ok": true, "checks": [{"device": "pod1-leaf1", "kind": "bgp", "subject": "x",'
            ' "expected": "a", "actual": "a", "ok": true}]}',
            "is of pod1-leaf1, of which the fabric 'lab' has none",
        ),
    ],
)
def test_a_document_of_another_kind_is_refused(given: str, text: str, refusal: str, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        written(tmp_path, **{given: file})
    assert str(refused.value).startswith(str(file))
    assert str(refused.value).endswith(refusal)


def test_an_intent_with_errors_has_no_report(tmp_path: Path) -> None:
    intent = tmp_path / "wrong.yml"
    intent.write_text(LAB.read_text(encoding="utf-8").replace("speed: 100G", "speed: 123G", 1), encoding="utf-8")
    with pytest.raises(RefusedError):
        written(tmp_path, intent)
    assert not (tmp_path / "fabric.html").exists()


@pytest.mark.parametrize("name", ["fabric.pdf", "fabric"])
def test_a_page_is_not_written_into_a_file_that_browsers_take_for_another_kind(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        api.report(api.open_project(LAB), tmp_path / name)
    assert str(refused.value) == f"a report is written as .html, not as `{name}`: name a file like fabric.html"
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    out = tmp_path / "absent" / "fabric.html"
    with pytest.raises(RailweaveError) as refused:
        api.report(api.open_project(LAB), out)
    assert str(refused.value) == (
        f"{out} cannot be written: No such file or directory; create its folder: `mkdir -p {out.parent}`"
    )


@pytest.mark.slow
def test_a_report_without_a_rollout_does_not_wait_for_the_driver(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from railweave import api;"
        f"api.report(api.open_project(Path({str(LAB)!r})), Path('fabric.html'));"
        "print([name for name in ('napalm', 'nornir', 'paramiko') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "[]\n"), ended.stderr
