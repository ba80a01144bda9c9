"""FRR's own parser accepts the file of every reference intent for every release.

The parsers are those of Debian's packages: 8.4 in the lab's node image, 10.3 of trixie in an image of its own. What the
versions of SONiC print is recorded in tests/conformance.
"""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from by_night import nightly_except
from reference_intents import REFERENCE_INTENTS

from nornir_railweave.lab.laboratory import ensure_image
from railweave.api.lab import image_sources
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.releases import RELEASES
from railweave.intent.load import load_intent_text
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates

ROOT = Path(__file__).resolve().parents[2]
INTENTS = sorted((*REFERENCE_INTENTS, *(ROOT / "tests/golden/sonic_config/intents").glob("*.yml")))
SUITES = ("bookworm", "trixie")
UNDERLAYS = ("numbered", "unnumbered")
CANNOT = shutil.which("docker") is None
pytestmark = [pytest.mark.e2e, pytest.mark.skipif(CANNOT, reason="FRR's parser runs in the lab's image, by Docker")]

PARSE = 'for file in /texts/*; do said=$(vtysh -C -f "$file" 2>&1) && [ -z "$said" ] || echo "$file: $said"; done'


def write_texts(folder: Path) -> int:
    """Write the file of a switch of each tier for every intent, underlay and release, equal ones once; return how many
    there were."""
    texts: list[str] = []
    for intent in INTENTS:
        for underlay in UNDERLAYS:
            fabric = design(load_intent_text(intent.read_text(encoding="utf-8"), intent.name), load_catalog()).fabric
            assert fabric is not None
            addressing = fabric.policies.addressing._replace(unnumbered=underlay == "unnumbered")
            for release in RELEASES:
                sonic = fabric.policies.sonic._replace(release=release)
                bgp = fabric.policies.bgp._replace(bfd=RELEASES[release].bfd)
                policies = fabric.policies._replace(addressing=addressing, bgp=bgp, sonic=sonic)
                configurator = Configurator(replace(fabric, policies=policies), find_templates())
                for tier, switch in {one.tier.name: one for one in fabric.switches}.items():
                    text = configurator.frr(switch)
                    if text not in texts:
                        name = f"{intent.stem}-{underlay}-{release}-{tier}.conf"
                        (folder / name).write_text(text, encoding="utf-8")
                    texts.append(text)
    return len(texts)


def image(suite: str) -> str:
    """Return an image with the FRR of a release of Debian."""
    if suite == "bookworm":
        return ensure_image(image_sources())
    name = f"railweave-frr:{suite}"
    build = ["docker", "build", "-q", "--network", "host", "--build-arg", f"SUITE={suite}", "-t", name]
    subprocess.run([*build, str(Path(__file__).parent / "frr_image")], capture_output=True, check=True)
    return name


def parse(folder: Path, suite: str) -> str:
    """Return what FRR's parser says of the files of a folder that it does not accept."""
    command = ["docker", "run", "--rm", "--network", "none", "-v", f"{folder}:/texts:ro", image(suite)]
    return subprocess.run([*command, "bash", "-c", PARSE], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("suite", nightly_except(SUITES, daily=["bookworm"]))
def test_frr_accepts_the_file_of_every_intent_and_release(tmp_path: Path, suite: str) -> None:
    assert write_texts(tmp_path) >= len(INTENTS) * len(UNDERLAYS) * len(RELEASES) * 2
    assert parse(tmp_path, suite) == ""


@pytest.mark.parametrize("suite", SUITES)
def test_frr_names_the_line_that_it_does_not_know(tmp_path: Path, suite: str) -> None:
    (tmp_path / "wrong.conf").write_text("router bgp 65001\n neighbor SPINES colour blue\n", encoding="utf-8")
    assert "Unknown command" in parse(tmp_path, suite)
