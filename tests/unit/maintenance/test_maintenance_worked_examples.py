"""The worked examples of CONTRIBUTING.md, carried out in a copy of the project as a reader would."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"(?:^`(?P<path>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """The project with one worked example carried out, and what its commands printed."""

    project: Path
    printed: str


Carry = Callable[[str], Example]


def section(title: str) -> str:
    """Return the worked example of a title."""
    found = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"CONTRIBUTING.md has no worked example {title!r}"
    return found[1]


def apply_difference(project: Path, text: str) -> None:
    """Apply a difference as its context says; its line numbers do not count, as files grow above them."""
    name = re.findall(r"^\+\+\+ b/(.+)$", text, re.MULTILINE)[0]
    path = project / name
    if not path.exists():
        path.parent.mkdir(parents=True)
        shutil.copy(ROOT / name, path)
    content = path.read_text(encoding="utf-8")
    for hunk in re.split(r"^@@.*@@\n", text, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        assert content.count(before) == 1, f"{path.name} does not hold once:\n{before}"
        content = content.replace(before, after)
    path.write_text(content, encoding="utf-8")


@pytest.fixture
def carry_out(tmp_path: Path) -> Carry:
    def carry(title: str) -> Example:
        for folder in ("src", "templates", "intent"):
            shutil.copytree(ROOT / folder, tmp_path / folder)
        printed = ""
        for block in _BLOCK.finditer(section(title)):
            if block["kind"] == "diff":
                apply_difference(tmp_path, block["text"])
            elif block["kind"] == "sh":
                printed += run(tmp_path, block["text"])
            else:
                assert block["path"], f"{title}: a file without a name"
                path = tmp_path / block["path"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block["text"], encoding="utf-8")
        return Example(tmp_path, printed)

    return carry


RUN = """\
import shlex, sys
from railweave.cli.main import main
for line in sys.stdin:
    command, _, status = line.partition("  # exit status ")
    program, *words = shlex.split(command)
    if program != "railweave" or main(words) != int(status or 0):
        sys.exit(f"failed: {line}")
"""


def run(project: Path, lines: str) -> str:
    """Run lines of ``railweave …`` on the code of ``project``; return what they printed."""
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=lines, cwd=project, env=os.environ | {"PYTHONPATH": str(project / "src")}, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_switch_model_is_a_data_file(carry_out: Carry) -> None:
    example = carry_out("Adding a switch model")
    rendered = example.project / "build/acme/switches/acme-leaf1/config_db.json"
    config = json.loads(rendered.read_text(encoding="utf-8"))
    assert config["DEVICE_METADATA"]["localhost"]["hwsku"] == "Acme-8x400"
    assert config["PORT"]["Ethernet32"]["lanes"] == "41,42,43,44,45,46,47,48"
    assert config["PORT"]["Ethernet32"]["alias"] == "fourHundredGigE5"


def test_a_nic_vendor_is_a_pack_and_its_catalog_entries(carry_out: Carry) -> None:
    example = carry_out("Adding a NIC vendor")
    assert "RW802" not in example.printed
    host = example.project / "build/acme-nics/hosts/gpu1"
    nic = json.loads((host / "rails.json").read_text(encoding="utf-8"))["nic"]
    assert nic["vendor"] == "acme"
    assert nic["firmware"] == ["ROCE_CNP_DSCP=48"]
    assert nic["steps"][1]["reads"][0]["want"]["3"] == "on"
    pfc = nic["steps"][1]
    assert [priority for priority, wanted in pfc["reads"][0]["want"].items() if wanted == "on"] == ["3"]
    assert pfc["writes"] == [{"command": ["acmetool", "qos", "{interface}", "pfc", "{key}:{value}"]}]
    assert "acme_0:1" in (host / "nccl.conf").read_text(encoding="utf-8")


def test_a_check_is_a_code_a_rule_and_its_call(carry_out: Carry) -> None:
    example = carry_out("Adding a check")
    assert "error[RW117]" in example.printed
    assert "plan for at most 60 months" in example.printed


def test_a_key_is_a_value_a_row_and_a_pair_of_intents(carry_out: Carry) -> None:
    example = carry_out("Adding a key of the intent, and its row")
    config = json.loads(
        (example.project / "build/clocks/switches/mini-leaf1/config_db.json").read_text(encoding="utf-8")
    )
    assert config["DEVICE_METADATA"]["localhost"]["timezone"] == "Etc/UTC"
    assert "without disruption" in example.printed
    assert "patch" in example.printed
    leaves = "from schema_leaves import PAIRS, SIZED_ONLY, leaves; assert set(leaves()) == PAIRS.keys() | SIZED_ONLY"
    path = os.pathsep.join(str(example.project / folder) for folder in ("src", "tests/support"))
    subprocess.run([sys.executable, "-c", leaves], env=os.environ | {"PYTHONPATH": path}, check=True)


def test_every_worked_example_is_carried_out() -> None:
    titles = re.findall(r"^### (.+)$", TEXT[TEXT.index("## Worked examples") :], re.MULTILINE)
    carried_out, described = titles[:4], titles[4:]
    assert carried_out == [
        "Adding a switch model",
        "Adding a NIC vendor",
        "Adding a check",
        "Adding a key of the intent, and its row",
    ]
    assert described == ["Adding a tier"]
    assert not any(_BLOCK.search(section(title)) for title in described)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_links_of_the_guide_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


@pytest.mark.parametrize(
    "place", sorted(set(re.findall(r"`((?:src|tasks|tests|topologies|templates|docs)/[\w./-]+)`", TEXT)))
)
def test_places_of_the_guide_are_there(place: str) -> None:
    made = {path for path, _, _ in _BLOCK.findall(TEXT)}
    assert place in made or (ROOT / place).exists()
