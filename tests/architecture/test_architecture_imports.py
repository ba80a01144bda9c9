"""Imports go one way (design rule); a module that looks upwards fails here with the line to mend."""

import ast
import functools
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from sources import Module, by_folder, nodes_of

from railweave.sonic.delta.rules import RULES
from railweave.sonic.ownership import OWNED

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    "railweave": ROOT / "src" / "railweave",
    "nornir_railweave": ROOT / "tasks" / "nornir_railweave",
    "railweave_hosts": ROOT / "tasks" / "railweave_hosts",
    "napalm_sonic": ROOT / "tasks" / "napalm_sonic",
    "railweave_switch": ROOT / "tasks" / "railweave_switch",
    "sonic_sim": ROOT / "topologies" / "sonic_sim",
}

# Who may import whom, lowest layer first. A layer may import itself and every layer below it.
LAYERS: tuple[frozenset[str], ...] = tuple(
    frozenset(layer)
    for layer in (
        {
            "units",
            "names",
            "diagnostics",
            "errors",
            "files",
            "forks",
            "printable",
            "masking",
            "secrets",
            "csv_text",
            "codec",
            "wording",
            "__init__",
        },
        {"fabric"},
        {"intent", "catalog", "templates"},
        {"cabling"},
        {"bom", "design", "drawing"},
        {"qos", "routing"},
        {"export", "hosts", "lab", "sonic", "telemetry"},
        {"switch_driver"},
        {"plan"},
        {"failures"},
        {"checks", "yang"},
        {"acceptance", "comparison"},
        {"health", "links"},
        {"exporter"},
        {"report"},
    )
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

# Above the engine and the packages that reach devices: what programs call, and the command line that calls it.
API, CLI = "api", "cli"

# What a NAPALM driver may know of the engine: configuration as data and what of it is secret, never fabrics.
DRIVER_MAY_IMPORT = frozenset({"delta", "document", "frr", "neutral", "ownership", "rows"})
DEVICE_LIBRARIES = frozenset(
    {
        "ansible",
        "ansible_runner",
        "asyncssh",
        "napalm",
        "netmiko",
        "nornir",
        "nornir_napalm",
        "paramiko",
        "socket",
        "subprocess",
    }
)
TEMPLATE_PROCESS = ("railweave.templates.worker", "subprocess")
"""The one process that the engine starts: this interpreter, for the templates of a project."""


def modules() -> list[Module]:
    return [
        (f"{package}.{'.'.join(path.relative_to(folder).with_suffix('').parts)}", path)
        for package, folder in SOURCES.items()
        for path in sorted(folder.rglob("*.py"))
    ]


@functools.cache
def imports_of(path: Path) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write absolute imports"
            found.append((node.lineno, node.module or ""))
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def layer_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


ALL = modules()
FOLDERS = by_folder(ALL, ROOT)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_module_imports_only_what_lies_below_it(folder: str) -> None:
    wrong = [
        f"{path}:{line}: {module} imports {name}"
        for module, path in FOLDERS[folder]
        for line, name in imports_of(path)
        if not allowed(module.split(".", maxsplit=1)[0], module, name)
    ]
    assert not wrong, "\n".join(wrong)


def allowed(package: str, module: str, name: str) -> bool:
    target = name.split(".", maxsplit=1)[0]
    if target not in SOURCES or target == package != "railweave":
        return True
    if package == "railweave":
        return engine_allowed(module, name)
    if package == "nornir_railweave":
        return target in {"napalm_sonic", "railweave", "railweave_hosts"} and layer_of(name) not in {API, CLI}
    if package == "railweave_hosts":
        return target == "railweave" and layer_of(name) not in {API, CLI}
    if package == "railweave_switch":
        return False  # what runs on a switch has nothing but Python's own library
    if target == "railweave_switch":
        return package in {"napalm_sonic", "sonic_sim"}
    if package == "napalm_sonic":
        return driver_allowed(name)
    return False  # the simulator judges the rest, so it knows nothing of it


def driver_allowed(name: str) -> bool:
    _, layer, *inner = name.split(".")
    if layer in {"printable", "secrets", "switch_driver"}:
        return True
    return layer == "sonic" and (not inner or inner[0] in DRIVER_MAY_IMPORT)


def engine_allowed(module: str, name: str) -> bool:
    layer = layer_of(module)
    if layer in {API, CLI}:
        return layer == CLI or not name.startswith("railweave.cli")
    if not name.startswith("railweave"):
        return False
    target = layer_of(name)
    return target in RANK and RANK[target] <= RANK[layer]


ENGINE = [(name, path) for name, path in ALL if name.startswith("railweave.") and layer_of(name) not in {API, CLI}]


def test_the_engine_reaches_no_device() -> None:
    reached = [
        f"{path}:{line}: imports {name}"
        for module, path in ENGINE
        for line, name in imports_of(path)
        if name.split(".")[0] in DEVICE_LIBRARIES and (module, name) != TEMPLATE_PROCESS
    ]
    assert not reached, "\n".join(reached)


def test_the_import_rule_notices_a_module_that_looks_upwards() -> None:
    assert not engine_allowed("railweave.design.build", "railweave.sonic.render.configure")
    assert not allowed("napalm_sonic", "napalm_sonic.driver", "railweave.design.build")
    assert not allowed("napalm_sonic", "napalm_sonic.driver", "railweave.sonic.render.configure")
    assert allowed("napalm_sonic", "napalm_sonic.driver", "railweave.secrets.shown_frr")
    assert not allowed("railweave_switch", "railweave_switch.main", "railweave.sonic.rows")
    assert not allowed("sonic_sim", "sonic_sim.frr", "railweave.sonic.frr")
    assert engine_allowed("railweave.sonic.render.configure", "railweave.qos.maps")
    assert engine_allowed("railweave.api.targets.fabric", "nornir_railweave.target.connect")
    assert not engine_allowed("railweave.api.project", "railweave.cli.show")
    assert not engine_allowed("railweave.report.plan", "railweave.api.project")
    assert not allowed("nornir_railweave", "nornir_railweave.target.connect", "railweave.api.project")


def imports_within(package: str) -> dict[str, set[str]]:
    """Return what each module of a package imports of it, late imports and those for types included."""
    known = {name.removesuffix(".__init__"): path for name, path in ALL if name.split(".")[0] == package}
    return {module: modules_named(imports_of(path), known) - {module} for module, path in known.items()}


def modules_named(imports: list[tuple[int, str]], known: Collection[str]) -> set[str]:
    """Return the modules that imports name. ``from package import module`` does not count for the package."""
    named = {(line, name) for line, name in imports if name in known}
    return {name for line, name in named if not any(at == line and o.startswith(f"{name}.") for at, o in named)}


def circle_in(graph: Mapping[str, Collection[str]]) -> str:
    """Return one way by which a module or a folder imports itself, empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " → ".join(reversed(error.args[1]))
    return ""


@pytest.mark.parametrize("package", sorted(SOURCES))
def test_no_module_imports_itself_by_way_of_others(package: str) -> None:
    assert not circle_in(imports_within(package))


@pytest.mark.parametrize("package", sorted(SOURCES))
def test_folders_of_a_package_import_one_way(package: str) -> None:
    folders: dict[str, set[str]] = {}
    for module, names in imports_within(package).items():
        for name in names:
            mine, other = folder_pair(module, name)
            if mine != other:
                folders.setdefault(mine, set()).add(other)
                folders.setdefault(other, set())
    assert not circle_in(folders)


def folder_pair(module: str, name: str) -> tuple[str, str]:
    """Return the two rooms below the closest folder that holds both."""
    mine, other = module.split("."), name.split(".")
    depth = next((at for at, (one, two) in enumerate(zip(mine, other, strict=False)) if one != two), 0)
    return ".".join(mine[: depth + 1]), ".".join(other[: depth + 1])


# Who reads CONFIG_DB by the names of its tables outside `sonic`: checks of rendered rows, and lists of exceptions.
NAMES_TABLES = frozenset(
    {
        "api/lab.py",
        "secrets.py",
    }
)


def test_only_sonic_knows_which_table_says_what() -> None:
    """Others ask a change for its subject, so that a table is read in one place."""
    tables = {table for rule in RULES for table in rule.tables} | set(OWNED)
    engine = SOURCES["railweave"]
    found = {
        path.relative_to(engine).as_posix()
        for path in engine.rglob("*.py")
        if path.relative_to(engine).parts[0] not in {"sonic", "yang"} and tables & strings_of(path)
    }
    assert found == NAMES_TABLES


def strings_of(path: Path) -> set[str]:
    """Return the texts that stand in a module."""
    return {node.value for node in nodes_of(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
