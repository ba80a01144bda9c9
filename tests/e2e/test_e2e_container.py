"""The container image: built from the repository, and used on a project in a mounted folder."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "railweave:tested"


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    subprocess.run(["make", "image", f"IMAGE={IMAGE}", "IMAGE_BUILD=--network host"], cwd=ROOT, check=True)
    yield IMAGE
    subprocess.run(["docker", "image", "rm", "--force", IMAGE], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.nightly
def test_the_image_designs_and_deploys_a_project_of_its_own(image: str, tmp_path: Path) -> None:
    def run(*words: str, entrypoint: str = "railweave") -> str:
        mounted = ["--volume", f"{tmp_path}:/project", "--entrypoint", entrypoint]
        done = subprocess.run(
            ["docker", "run", "--rm", "--network", "none", *mounted, image, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run("--version").startswith("railweave ")
    run("init", "fabric")
    assert "4 leaves, 4 spines" in run("size", "--intent", "fabric/intent/fabric.yml")
    assert "verified: 2,064 checks passed" in run("-C", "fabric", "deploy", entrypoint="make")
