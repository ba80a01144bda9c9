"""No command that needs no device shows a secret of the intent, and only switch files hold one."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_rig import CommandRig
from marked_secrets import MARK, files_with_the_mark, is_private, overrides, overrides_of_nobody, write_intent

from railweave.secrets import HIDDEN


class Rig(CommandRig):
    in_process = True

    def commit(self, name: str) -> None:
        for words in (
            ("init", "-q"),
            ("add", "-A"),
            ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", name),
        ):
            subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    before = os.umask(0)
    made = Rig(tmp_path_factory.mktemp("secrets") / "project", "lab-4.yml")
    (made.folder / ".gitignore").write_text("rendered\n", encoding="utf-8")
    write_intent(made.intent, overrides("one"), overrides_of_nobody("one"))
    made.commit("one")
    write_intent(made.intent, overrides("two"), overrides_of_nobody("two"), session="two")
    yield made
    os.umask(before)


@pytest.mark.parametrize(
    "words",
    [
        ("check",),
        ("check", "--json"),
        ("size", "--json"),
        ("diff", "HEAD"),
        ("diff", "HEAD", "--json"),
        ("diff", "HEAD", "--markdown"),
        ("phases", "HEAD"),
        ("explain", "lab-leaf1"),
        ("explain", "lab-leaf1", "--json"),
        ("explain", "lab-leaf1", "SNMP_COMMUNITY"),
        ("explain", "lab-leaf1", "RADIUS|global|passkey", "--json"),
        ("explain", "lab-leaf1", "VENDOR_ACCESS|peer"),
        ("explain", "lab-leaf1", "neighbor SPINES password"),
        ("explain", "lab-leaf1", "SNMP_COMUNITY"),
        ("explain", "lab-leaf1", f"SNMP_COMMUNITY|{MARK}-two-community"),
    ],
    ids=" ".join,
)
def test_no_command_shows_a_secret(rig: Rig, words: tuple[str, ...]) -> None:
    done = rig.run(*words, status=None)
    assert done.returncode in ({1} if "SNMP_COMUNITY" in words else {0, 2}), done.stderr
    assert MARK not in done.stdout + done.stderr


def test_a_changed_secret_shows_as_changed(rig: Rig) -> None:
    changes = rig.json("diff", "HEAD")["changes"]
    places = {(one["table"], one["field"]): one for one in changes if one["device"] == "lab-leaf1"}
    for place in (
        ("RADIUS", "passkey"),
        ("NTP_KEY", "value"),
        ("MACSEC_PROFILE", "primary_cak"),
        ("VENDOR_ACCESS", "md5"),
    ):
        assert places[place]["op"] == "update"
        assert places[place]["before"] == places[place]["after"] == HIDDEN
    (community,) = (
        one
        for one in changes
        if one["table"] == "SNMP_COMMUNITY" and one["device"] == "lab-leaf1" and one["op"] == "add"
    )
    assert community["key"] == HIDDEN
    assert community["after"] == {"TYPE": "RO"}


def test_only_the_files_of_switches_hold_secrets_and_are_their_owner_s_alone(rig: Rig) -> None:
    rig.run("render", "--out", "rendered")
    switches = rig.folder / "rendered" / "switches"
    assert all(is_private(path) for path in switches.rglob("*") if path.is_file())
    leaf: Any = json.loads((switches / "lab-leaf1" / "config_db.json").read_bytes())
    assert leaf["RADIUS"]["global"]["passkey"] == f"{MARK}-two-radius"
    assert {path.parts[0] for path in files_with_the_mark(rig.folder / "rendered")} == {"switches"}


def test_the_intent_of_a_lab_is_its_owner_s_alone(rig: Rig) -> None:
    text = rig.intent.read_text(encoding="utf-8")
    big = rig.intent.with_name("big.yml")
    big.write_text(text.replace("sonic-vs", "sn5600").replace("fabric: lab", "fabric: big"), encoding="utf-8")
    done = rig.run("lab", "render", str(big), status=None)
    assert MARK not in done.stdout + done.stderr
    written = rig.folder / ".railweave" / "lab"
    assert all(is_private(written / path) for path in files_with_the_mark(written))


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (f"RADIUS: {{global: {{passkey: {{a: {MARK}}}}}}}", "overrides.leaf.RADIUS.global.passkey"),
        ("RADIUS: {global: {passkey: 7312573125}}", "overrides.leaf.RADIUS.global.passkey"),
        (f"RADIUS: {{global: {MARK}}}", "overrides.leaf.RADIUS.global"),
        (f"SNMP_COMMUNITY: {MARK}", "overrides.leaf.SNMP_COMMUNITY"),
        (f"SNMP_COMMUNITY: {{{MARK}: [RO]}}", "overrides.leaf.SNMP_COMMUNITY"),
        (f"SNMP_COMMUNITY: {{{MARK}: {{TYPE: {{a: b}}}}}}", "overrides.leaf.SNMP_COMMUNITY"),
        (f"SNMP_COMMUNITY: {{{MARK}: {{TYPE: RO}}, {MARK}: {{TYPE: RW}}}}", "is duplicated in this mapping"),
    ],
)  # fmt: skip
def test_an_intent_that_is_refused_shows_no_secret_either(rig: Rig, line: str, place: str, tmp_path: Path) -> None:
    whole = (rig.folder.parent / "project" / "intent" / "pod-32.yml").read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(f"{whole}\noverrides:\n  leaf:\n    {line}\n", encoding="utf-8")
    for words in (("check", str(wrong)), ("check", str(wrong), "--json")):
        done = rig.run(*words, status=1)
        assert MARK not in done.stdout + done.stderr
        assert "7312573125" not in done.stdout + done.stderr
        assert place in (done.stdout + done.stderr).replace('\\"', '"')


def test_an_inventory_that_is_refused_for_its_password_does_not_show_it(rig: Rig) -> None:
    target = (rig.folder / "inventory" / "sim.yml").read_text(encoding="utf-8")
    (rig.folder / "inventory" / "wrong.yml").write_text(f"{target}\nssh:\n  password: {MARK}\n", encoding="utf-8")
    done = rig.run("plan", "--target", "wrong", status=1)
    assert "`password` would put a secret into a file" in done.stderr
    assert MARK not in done.stdout + done.stderr
