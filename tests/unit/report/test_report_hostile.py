"""Whatever names, messages and files of others say is words on a page: no tag, attribute or address of theirs."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from by_check import sampled

from railweave import api
from railweave.api import rollout as rollouts
from railweave.errors import RailweaveError
from railweave.plan.document import plan_json
from railweave.plan.model import DeviceState
from railweave.plan.outcome import CheckKind, VerifyCheck, VerifyResult
from railweave.plan.rollout import DeviceRecord, JournalLine, Rollout
from railweave.report.documents import versioned
from railweave.report.verification import verify_json

INTENTS = Path(__file__).resolve().parents[3] / "intent"
LAB = (INTENTS / "lab-4.yml").read_text(encoding="utf-8")
WIDER = "mtu: {fabric: 9216, hosts: 9000}\n"
EVIL = (
    """<script>document.title="owned"</script>"><img src=x onerror="document.title='owned'"> ' onload='x()' ]]>"""
    """</style></title></svg><svg/onload=x()>javascript:x() {{ 7 * 7 }} [x](javascript:x()) &lt;b&gt;"""
)
TAGS = frozenset(
    re.findall(
        r"\w+",
        """html head meta title link style body script noscript header main nav section aside h1 h2 h3 p a ol ul li
        strong span button form label select option input datalist fieldset legend dl div dt dd table caption thead
        tbody tr th td svg g rect text path line""",
    )
)
"""The elements that pages and pictures are made of."""


class Elements(HTMLParser):
    """Every element of a page or picture; what a browser would run or load is kept apart."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.strange: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.strange.append(f"<{tag}>")
        for name, value in attrs:
            address = name in {"href", "src", "action"} and not (value or "").startswith(("#", "data:,"))
            if name.startswith("on") or name == "style" or address:
                self.strange.append(f"{name}={value}")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def harmless(text: str, *, scripts: int) -> str:
    """Return the words of a page or picture, which has so many scripts of its own and nothing that is not ours."""
    found = Elements(text)
    assert found.strange == []
    assert text.count("<script") == scripts
    assert "<img" not in text
    return "".join(found.words)


def page_of(folder: Path, text: str, **given: Any) -> str:
    """Return the words of the report of an intent, with all of its pictures."""
    intent, out = folder / "intent.yml", folder / "fabric.html"
    intent.write_text(text, encoding="utf-8")
    api.report(api.open_project(intent), out, **given)
    page = out.read_text(encoding="utf-8")
    packed = re.search(r'<script type="text/plain" id="data">([^<]+)</script>', page)
    assert packed is not None
    pictures = json.loads(gzip.decompress(base64.b64decode(packed[1])))["pictures"]
    return harmless(page, scripts=2) + "".join(harmless(one["svg"], scripts=0) for one in pictures.values())


def test_a_verification_is_words(tmp_path: Path) -> None:
    checks = (VerifyCheck("lab-leaf1", CheckKind.LINK, "Ethernet0", "up", "down", False),)
    document = versioned(verify_json(VerifyResult(checks)))
    for check in document["checks"]:
        check.update(kind=EVIL, subject=EVIL, expected=EVIL, actual=EVIL, skipped=EVIL)
    document.update(advice=[EVIL], warnings=[EVIL])
    file = tmp_path / "verify.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert page_of(tmp_path, LAB, verification=file).count(EVIL) >= 3


def test_drift_is_words(tmp_path: Path) -> None:
    row = {"table": EVIL, "key": EVIL, "field": EVIL, "before": EVIL, "after": [EVIL], "disruption": EVIL}
    document = {
        **{"version": 1, "fabric": "lab", "target": EVIL, "drift": True},
        "devices": {"lab-leaf1": {"state": EVIL, "error": EVIL}, EVIL: {"state": "unreachable", "error": EVIL}},
        "changes": [{"device": "lab-leaf1", "op": EVIL, **row}, {"device": EVIL, "op": "update", **row}],
    }
    file = tmp_path / "drift.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert page_of(tmp_path, LAB, drift=file).count(EVIL) >= 4


def test_a_journal_is_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rollout = Rollout(
        EVIL,
        Path("journal"),
        fabric="lab",
        devices={"lab-leaf1": DeviceRecord(wave=1, outcome=EVIL, error=EVIL), EVIL: DeviceRecord(wave=1, error=EVIL)},
        stopped=True,
        stopped_by=EVIL,
        entries=(JournalLine(EVIL, EVIL, EVIL, EVIL, {EVIL: EVIL}),),
    )
    monkeypatch.setattr(rollouts, "find", lambda name: rollout)
    assert page_of(tmp_path, LAB, rollout="").count(EVIL) >= 4


def test_a_plan_and_its_rehearsal_are_words(tmp_path: Path) -> None:
    before, after = tmp_path / "before.yml", tmp_path / "after.yml"
    foreign = f"overrides: {{leaf: {{SNMP: {{LOCATION: {{Location: {json.dumps(EVIL)}}}}}}}}}\n"
    before.write_text(LAB, encoding="utf-8")
    after.write_text(LAB + foreign, encoding="utf-8")
    plan = api.diff(api.open_project(after), str(before))
    document = plan_json(plan)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    rehearsal = {"version": 1, "plan_digest": document["digest"], "line": EVIL, "at": EVIL, "ok": True, "waves": []}
    (tmp_path / "plan.rehearsal.json").write_text(json.dumps(rehearsal), encoding="utf-8")
    assert page_of(tmp_path, LAB + foreign, plan=file).count(EVIL) >= 2
    assert any(device.state is DeviceState.CHANGED for device in plan.devices.values())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("the fabric", LAB.replace("fabric: lab\n", f"fabric: {json.dumps(EVIL)}\n")),
        ("the nodes", LAB.replace("name: gpu", f"name: {json.dumps(EVIL)}")),
        ("a row of racks", f"{LAB}racks: {{rows: [{{name: {json.dumps(EVIL)}, racks: a1-4}}], devices: []}}\n"),
        ("a rack", f"{LAB}racks: {{rows: [{{name: a, racks: [{json.dumps(EVIL)}]}}], devices: []}}\n"),
        ("an as-built file", f"{LAB}racks: {{as_built: {json.dumps(EVIL)}, rows: [], devices: []}}\n"),
    ],
)
def test_names_of_an_intent_have_no_room_for_markup(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(RailweaveError):
        page_of(tmp_path, text)


def test_prices_and_measured_lengths_have_no_room_for_markup(tmp_path: Path) -> None:
    intent, prices = tmp_path / "intent.yml", tmp_path / "prices.yml"
    intent.write_text(LAB, encoding="utf-8")
    for text in (
        f"currency: {json.dumps(EVIL)}\nprices: {{}}\n",
        f"currency: EUR\nprices: {{{json.dumps(EVIL)}: 1}}\n",
        f"currency: EUR\nprices: {{AOC: {json.dumps(EVIL)}}}\n",
    ):
        prices.write_text(text, encoding="utf-8")
        with pytest.raises(RailweaveError):
            api.compare([api.open_project(intent)] * 2, prices=prices, html=tmp_path / "compare.html")
    assert not (tmp_path / "compare.html").exists()


def test_names_of_files_are_words_in_a_comparison(tmp_path: Path) -> None:
    evil = EVIL.replace("/", "∕")
    intent, page = tmp_path / f"{evil[:120]}.yml", tmp_path / "compare.html"
    intent.write_text(LAB, encoding="utf-8")
    api.compare([api.open_project(intent)] * 2, html=page)
    assert evil[:120] in harmless(page.read_text(encoding="utf-8"), scripts=0)


def test_titles_of_own_models_are_words_in_every_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "catalog" / "switches"
    folder.mkdir(parents=True)
    own = {**json.loads(api.model_file("nokia-ixr7220-h4-64d")), "id": "acme-64", "title": EVIL, "source": EVIL}
    (folder / "acme-64.json").write_text(json.dumps(own), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("railweave.catalog.load._Used.own", (None, ()))
    intent = tmp_path / "intent" / "intent.yml"
    intent.parent.mkdir()
    pod = (INTENTS / "pod-32.yml").read_text(encoding="utf-8").replace("nokia-ixr7220-h4-64d", "acme-64")
    assert EVIL in page_of(intent.parent, pod)
    api.compare([api.open_project(intent)] * 2, html=tmp_path / "compare.html")
    assert EVIL in harmless((tmp_path / "compare.html").read_text(encoding="utf-8"), scripts=0)


@pytest.mark.parametrize(
    "waves",
    sampled([EVIL, 5, [EVIL], [{}], "SLOW", [{"devices": ["lab-leaf1"], "elapsed_s": None}]], every=4),
    ids=range(6),
)
def test_a_rehearsal_of_another_form_is_as_good_as_none(waves: Any, tmp_path: Path) -> None:
    before, after = tmp_path / "before.yml", tmp_path / "after.yml"
    before.write_text(LAB, encoding="utf-8")
    after.write_text(LAB + WIDER, encoding="utf-8")
    document = plan_json(api.diff(api.open_project(after), str(before)))
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    if waves == "SLOW":
        waves = [{"devices": wave, "elapsed_s": EVIL} for wave in document["waves"]]
    made = {"version": 1, "plan_digest": document["digest"], "line": "rehearsed", "at": "today", "waves": waves}
    (tmp_path / "plan.rehearsal.json").write_text(json.dumps(made), encoding="utf-8")
    assert "rehearsed (today)" not in page_of(tmp_path, LAB + WIDER, plan=file)
