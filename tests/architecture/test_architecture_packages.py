"""The packages that work alone: a module is in one wheel, and imports nothing outside it and its dependencies."""

import ast
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from sources import nodes_of

from railweave import __version__

ROOT = Path(__file__).resolve().parents[2]
SHARED = "railweave-sonic"
NAMES = {"PyYAML": {"yaml"}, "jsonpatch": {"jsonpatch", "jsonpointer"}}
"""Packages whose modules have other names, or that bring those of another."""


def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


PACKAGES = {folder.name: project(folder) for folder in sorted((ROOT / "packages").iterdir())}


def modules(name: str) -> dict[str, Path]:
    """Return the modules of a package's wheel with their files."""
    included = PACKAGES[name]["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    found = {}
    for source, target in included.items():
        place = (ROOT / "packages" / name / source).resolve()
        assert place.exists(), place
        for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
            path = Path(target) if place.is_file() else Path(target) / file.relative_to(place)
            if path.suffix == ".py":
                found[".".join(path.with_suffix("").parts).removesuffix(".__init__")] = file
    return found


def imported(file: Path) -> set[str]:
    """Return the names that a module imports when it runs, ``from a import b`` as ``a.b``."""
    nodes = nodes_of(file)
    unused = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import) and id(node) not in unused:
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and id(node) not in unused and node.module:
            names |= {f"{node.module}.{one.name}" for one in node.names}
    return names


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_imports_nothing_outside_itself_and_its_dependencies(name: str) -> None:
    needed = [Requirement(text) for text in PACKAGES[name]["project"].get("dependencies", ())]
    inside = modules(name) | (modules(SHARED) if SHARED in [one.name for one in needed] else {})
    outside = sys.stdlib_module_names.union(*(NAMES.get(one.name, {one.name}) for one in needed))
    lacking = {
        f"{module}: {one}"
        for module, file in modules(name).items()
        for one in imported(file)
        if one not in inside and one.rpartition(".")[0] not in inside and one.partition(".")[0] not in outside
    }
    assert lacking == set()


def test_no_module_is_in_two_wheels() -> None:
    names = [module for name in PACKAGES for module in modules(name)]
    assert len(names) == len(set(names)) > 200


@pytest.mark.parametrize("name", PACKAGES)
def test_versions_are_those_of_railweave(name: str) -> None:
    whole = project(ROOT)["project"]
    known = {*whole["dependencies"], *whole["optional-dependencies"]["sim"], f"{SHARED}=={__version__}"}
    assert set(PACKAGES[name]["project"].get("dependencies", ())) <= known
