"""A fabric is a graph of tiers: who works on one asks the graph, and no module asks whether a switch is leaf or spine.

The names of tiers are words of people, of the intent and of SONiC. Only the modules that read or write those words may
hold them; a third tier then changes the design and these few.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from sources import Module, by_folder, nodes_of

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "src" / "railweave"
FOLDERS = (ENGINE, *sorted(one for one in (ROOT / "tasks").iterdir() if one.is_dir()))

NAMES = frozenset({"leaf", "leaves", "spine", "spines", "super-spine", "super-spines", "super_spine", "super_spines"})
ASKING = re.compile(r"_?(is_|has_)?(leaf|leaves|spine|spines|super_spines?)")
"""Attributes and fields that would tell one tier from another by its name."""

MAY_NAME_TIERS = {
    "railweave/design": "lays out the tiers, and explains them",
    "railweave/intent": "the keys of the intent",
    "railweave/checks/rules/b1_as_numbers.py": "the keys of the intent",
    "railweave/checks/rules/rw101_catalog_ids.py": "the keys of the intent",
    "railweave/checks/rules/rw110_override_scopes.py": "the keys of the intent",
    "railweave/checks/fabrics.py": "the keys of the intent",
    "railweave/lab/scale.py": "writes a small intent",
    "railweave/fabric/devices.py": "the names of tiers, one table",
    "railweave/fabric/sizing.py": "the keys of `size --json`",
    "railweave/report/sizing.py": "prints sizes for people",
    "railweave/comparison": "compares designs for people, and writes the keys of the intent",
    "railweave/report/comparison.py": "the keys of `compare --json`",
    "railweave/plan/policy.py": "the keys of `rollout.max_unavailable`",
    "railweave/plan/document.py": "the keys of `rollout.max_unavailable`",
    "nornir_railweave/target/rollout.py": "the keys of `rollout.max_unavailable`",
    "railweave/hosts/render.py": "a key of a node's file",
    "railweave/sonic/render/metadata.py": "SONiC's `type` by the name of a tier, one table",
}
NOT_ABOUT_FABRICS = ("railweave/yang/",)
"""A YANG model's own leaves."""


def modules() -> list[Module]:
    return [
        (f"{folder.name}/{path.relative_to(folder).as_posix()}", path)
        for folder in FOLDERS
        for path in sorted(folder.rglob("*.py"))
    ]


def named_tiers(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield where a module holds the name of a tier, in a text of its own or in what it asks of a value."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES:
            yield node.lineno, repr(node.value)
        elif isinstance(node, ast.Attribute) and ASKING.fullmatch(node.attr):
            yield node.lineno, f".{node.attr}"
        elif isinstance(node, ast.keyword) and node.arg and ASKING.fullmatch(node.arg):
            yield node.value.lineno, f"{node.arg}="
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and ASKING.fullmatch(node.target.id):
            yield node.lineno, f"{node.target.id}:"


def asked_roles(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield where a module decides by the name of a tier: by comparing it, or by looking something up under it."""
    for node in nodes:
        if isinstance(node, ast.Compare):
            for one in (node.left, *node.comparators):
                if isinstance(one, ast.Attribute) and one.attr == "name" and getattr(one.value, "attr", "") == "tier":
                    yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Name) and node.id in {"Role", "LinkKind"}:
            yield node.lineno, node.id


ALL = modules()


def listed(name: str) -> bool:
    return any(name == one or name.startswith(f"{one}/") for one in MAY_NAME_TIERS)


FOUND_IN = by_folder(ALL, ROOT)


@pytest.mark.parametrize("folder", FOUND_IN)
def test_only_listed_modules_hold_the_names_of_tiers(folder: str) -> None:
    found = [
        f"{path}:{line}: {what}"
        for name, path in FOUND_IN[folder]
        if not listed(name) and not name.startswith(NOT_ABOUT_FABRICS)
        for line, what in named_tiers(nodes_of(path))
    ]
    assert not found, "ask the graph instead (tier.attaches_nodes, uplinks_of, above, …):\n" + "\n".join(found)


@pytest.mark.parametrize("folder", FOUND_IN)
def test_no_module_decides_by_the_role_of_a_switch(folder: str) -> None:
    found = [f"{path}:{line}: {what}" for _, path in FOUND_IN[folder] for line, what in asked_roles(nodes_of(path))]
    assert not found, "ask the graph instead (tier.attaches_nodes, tier.level):\n" + "\n".join(found)


def test_every_listed_module_is_there_and_holds_names() -> None:
    for one in MAY_NAME_TIERS:
        package, _, rest = one.partition("/")
        folder = next(each for each in FOLDERS if each.name == package) / rest
        paths = [folder] if folder.is_file() else sorted(folder.rglob("*.py"))
        assert any(any(named_tiers(nodes_of(path))) for path in paths), one


@pytest.mark.parametrize(
    "line", ["x.leaves", "if kind == 'spine': pass", "f(is_leaf=True)", "spine: str", "names = {'leaf': 1}"]
)
def test_a_module_that_names_a_tier_is_noticed(line: str) -> None:
    assert list(named_tiers(ast.walk(ast.parse(line))))


@pytest.mark.parametrize("line", ["a.tier.name == b", "switch.role is Role.LEAF", "link.kind is LinkKind.LEAF_SPINE"])
def test_a_module_that_decides_by_a_role_is_noticed(line: str) -> None:
    assert list(asked_roles(ast.walk(ast.parse(line))))
