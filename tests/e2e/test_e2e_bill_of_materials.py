"""`make sbom`: a valid CycloneDX document that lists what railweave needs to run."""

import json
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from railweave import __version__

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The bill of the environment in which the tests run: a runtime environment of its own would need the network."""
    path = tmp_path_factory.mktemp("bill") / "railweave.cdx.json"
    environment = [f"VENV={sys.prefix}", f"SBOM_PYTHON={sys.executable}", f"SBOM={path}"]
    ready = f"{sys.prefix}/.ready"
    subprocess.run(["make", "-s", "-o", ready, "sbom", *environment], cwd=ROOT, check=True, timeout=600)
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def runtime_closure() -> set[str]:
    """Return the names of all packages that railweave with its extras ``sim`` and ``hosts`` needs here."""
    found: set[str] = set()
    open_names: list[tuple[str, tuple[str, ...]]] = [("railweave", ("sim", "hosts"))]
    while open_names:
        name, extras = open_names.pop()
        for requirement in map(Requirement, requires(name) or ()):
            marker = requirement.marker
            wanted = marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))
            if wanted and (canonical := canonicalize_name(requirement.name)) not in found:
                found.add(canonical)
                open_names.append((requirement.name, tuple(requirement.extras)))
    return found


def some_links(bill: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the bill with links at ``count`` of its packages: to parse an address takes the validator 50 ms."""
    components = bill["components"]
    return {
        **bill,
        "components": components[:count] + [{**one, "externalReferences": []} for one in components[count:]],
    }


def test_the_bill_is_valid_cyclonedx(bill: dict[str, Any]) -> None:
    validator = JsonStrictValidator(SchemaVersion.from_version(bill["specVersion"]))
    assert bill["components"][0]["externalReferences"]
    assert validator.validate_str(json.dumps(some_links(bill, 10))) is None
    assert validator.validate_str(json.dumps({**bill, "components": [{}], "dependencies": []})) is not None


def test_the_bill_lists_every_package_that_runs(bill: dict[str, Any]) -> None:
    listed = {canonicalize_name(one["name"]): one["version"] for one in bill["components"]}
    assert runtime_closure() <= listed.keys()
    assert {"pydantic-core", "paramiko", "asyncssh", "ansible-core"} <= runtime_closure()


def test_the_bill_names_the_project_its_version_and_its_dependencies(bill: dict[str, Any]) -> None:
    root = bill["metadata"]["component"]
    assert (root["name"], root["version"]) == ("railweave", __version__)
    needed = next(one["dependsOn"] for one in bill["dependencies"] if one["ref"] == root["bom-ref"])
    assert any(one.startswith("napalm==") for one in needed)
