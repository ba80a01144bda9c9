"""The locked packages: every version that the project asks for, each with its hashes, and no registry by name."""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[3]
LOCKED = [ROOT / "constraints.txt", *sorted((ROOT / "requirements").glob("*.txt"))]


@cache
def project() -> dict[str, dict[str, list[str]]]:
    """Return what ``pyproject.toml`` asks for: file of locked packages → name of the list → requirements."""
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = read["project"]["optional-dependencies"]
    base = read["project"]["dependencies"]
    return {
        "constraints.txt": {
            "base": base,
            "build": read["build-system"]["requires"],
            "dev": extras["dev"],
            "sim": extras["sim"],
        },
        "runtime.txt": {"base": base, "sim": extras["sim"], "hosts": extras["hosts"]},
        "yang.txt": {"yang": extras["yang"]},
        "yang3.txt": {"yang3": extras["yang3"]},
        "docs.txt": {"docs": read["dependency-groups"]["docs"]},
        "lock.txt": {"lock": read["dependency-groups"]["lock"]},
    }


def locked(path: Path) -> dict[str, tuple[Requirement, int]]:
    """Return the packages of a locked file with the number of their hashes."""
    found: dict[str, tuple[Requirement, int]] = {}
    for block in re.split(r"\n(?=\S)", path.read_text(encoding="utf-8")):
        if not block.startswith("#"):
            text = block.split(" \\\n", 1)[0]
            requirement = Requirement(text)
            found[canonicalize_name(requirement.name)] = (
                requirement,
                len(re.findall(r"--hash=sha256:[0-9a-f]{64}", block)),
            )
    return found


def test_every_locked_file_answers_a_list_of_the_project() -> None:
    assert {path.name for path in LOCKED} == set(project())


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_every_package_is_pinned_with_hashes(path: Path) -> None:
    packages = locked(path)
    assert packages
    loose = [
        name
        for name, (requirement, hashes) in packages.items()
        if hashes == 0 or [one.operator for one in requirement.specifier] != ["=="]
    ]
    assert not loose


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_what_the_project_asks_for_is_locked_at_a_version_that_it_allows(path: Path) -> None:
    packages = locked(path)
    for wanted in (Requirement(text) for texts in project()[path.name].values() for text in texts):
        found, _ = packages[canonicalize_name(wanted.name)]
        version = next(iter(found.specifier)).version
        assert wanted.specifier.contains(version), f"{path.name}: {found} does not meet {wanted}; run make lock"


def test_files_agree_on_every_version() -> None:
    versions: dict[str, set[str]] = {}
    for path in LOCKED:
        for name, (requirement, _) in locked(path).items():
            versions.setdefault(name, set()).add(str(requirement.specifier))
    # An environment has one of these two: the binding follows the C library of the machine.
    assert versions.pop("libyang") == {"==2.7.1", "==3.3.0"}
    assert not {name: found for name, found in versions.items() if len(found) > 1}


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_no_registry_is_named(path: Path) -> None:
    assert not re.search(r"://|^\s*-(i|f|-index|-extra|-find)", path.read_text(encoding="utf-8"), re.MULTILINE)
