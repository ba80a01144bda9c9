"""Code is read once: what packs a line is bounded, and names say what a thing is (docs/explanation/code-style.md)."""

import ast
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from sources import nodes_of

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tasks", "topologies")
VAGUE = ("one", "found", "known", "told")
MOST_PER_1000_LINES: dict[str, dict[str, float]] = {
    "conditional expressions": {"src": 8, "tasks": 6, "topologies": 20},
    "parallel assignments": {"src": 0.2, "tasks": 0.2, "topologies": 0.2},
    "vague names": {"src": 0.2, "tasks": 0.2, "topologies": 0.2},
    "branches in comprehensions": {"src": 0.2, "tasks": 0.2, "topologies": 0.3},
}
"""What each folder has reached, with a small margin: a bound goes down with the code, never up."""
LEAST_COMMENTS_PER_100_LINES = {"src": 3.5, "tasks": 3, "topologies": 3}

SHORT = (
    *("src/railweave/api/", "src/railweave/bom/", "src/railweave/catalog/", "src/railweave/checks/"),
    *("src/railweave/cli/", "src/railweave/comparison/", "src/railweave/drawing/", "src/railweave/export/"),
    "src/railweave/fabric/",
    *("src/railweave/hosts/", "src/railweave/intent/", "src/railweave/lab/", "src/railweave/plan/"),
    *("src/railweave/qos/", "src/railweave/report/", "src/railweave/routing/", "src/railweave/sonic/"),
    "src/railweave/telemetry/",
    *("src/railweave/templates/", "src/railweave/yang/", "src/railweave/codec.py", "src/railweave/masking.py"),
    *("src/railweave/secrets.py", "src/railweave/wording.py", "tasks/", "topologies/sonic_sim/bgp/"),
)
"""Packages in which each function is seen at a glance."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
COMMANDS = "src/railweave/cli/"
"""Where a function has a parameter for each option: its lines are counted from the first statement."""
MOST_LINES = 40
MOST_DECISIONS = 8


@dataclass
class Figures:
    """What was counted in a folder; places are ``path:line``."""

    code_lines: int = 0
    comment_lines: int = 0
    places: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    classes: Counter[str] = field(default_factory=Counter)
    long_functions: list[str] = field(default_factory=list)


@cache
def figures(folder: str) -> Figures:
    counted = Figures()
    for path in sorted((ROOT / folder).rglob("*.py")):
        count_module(counted, path.relative_to(ROOT).as_posix(), path)
    return counted


def count_module(counted: Figures, name: str, path: Path) -> None:
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    comments = sum(line.startswith("#") for line in lines)
    counted.comment_lines += comments
    counted.code_lines += sum(map(bool, lines)) - comments
    is_short = name.startswith(SHORT)
    is_command = name.startswith(COMMANDS)
    for node in nodes_of(path):
        if isinstance(node, ast.ClassDef):
            counted.classes[node.name] += 1
        elif is_short and isinstance(node, ast.FunctionDef) and is_long(node, is_command=is_command):
            counted.long_functions.append(f"{name}:{node.lineno} {node.name}")
        elif kind := packed(node):
            counted.places[kind].append(f"{name}:{getattr(node, 'lineno', 0)}")


def packed(node: ast.AST) -> str:
    """Return what a node packs into its line, empty for nothing."""
    if isinstance(node, COMPREHENSIONS):
        return "branches in comprehensions" if any(isinstance(part, ast.IfExp) for part in ast.walk(node)) else ""
    if isinstance(node, ast.IfExp):
        return "conditional expressions"
    if isinstance(node, ast.Assign):
        is_parallel = isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
        return "parallel assignments" if is_parallel else ""
    if isinstance(node, ast.arg):
        return "vague names" if node.arg in VAGUE else ""
    if isinstance(node, ast.Name) and node.id in VAGUE and isinstance(node.ctx, ast.Store):
        return "vague names"
    return ""


def is_long(function: ast.FunctionDef, *, is_command: bool) -> bool:
    first = function.lineno
    if is_command:
        first = function.body[0].lineno
    return (function.end_lineno or 0) - first >= MOST_LINES or decisions(function) > MOST_DECISIONS


def decisions(function: ast.AST) -> int:
    """Return how many ways a function, without the functions in it, decides."""
    count = 0
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If | ast.For | ast.While | ast.ExceptHandler | ast.IfExp | ast.match_case):
            count += 1
        elif isinstance(node, ast.comprehension):
            count += 1 + len(node.ifs)
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        count += decisions(node)
    return count


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_branch_is_a_statement_and_a_name_says_what_a_thing_is(folder: str) -> None:
    counted = figures(folder)
    for what, most in MOST_PER_1000_LINES.items():
        places = counted.places[what]
        assert 1000 * len(places) <= most[folder] * counted.code_lines, f"{what}: {', '.join(places[:20])}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_reasons_that_the_code_cannot_give_are_comments(folder: str) -> None:
    counted = figures(folder)
    assert 100 * counted.comment_lines >= LEAST_COMMENTS_PER_100_LINES[folder] * counted.code_lines


def test_a_class_name_stands_for_one_thing() -> None:
    assert not [name for name, count in figures("src").classes.items() if count > 1]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_function_is_seen_at_a_glance(folder: str) -> None:
    assert not figures(folder).long_functions
