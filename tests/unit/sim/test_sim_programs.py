"""The list of programs says which module has which; a process for one command imports that module only."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import sonic_sim.commands
from sonic_sim.shell import programs

FOLDER = sonic_sim.commands.__name__
SWITCH = f"{FOLDER}.switch"
"""What a driver installs, which the simulator's server registers."""


def _registered() -> dict[str, str]:
    """Return the module of every program, once all are imported."""
    for module in pkgutil.walk_packages(sonic_sim.commands.__path__, f"{FOLDER}."):
        importlib.import_module(module.name)
    started = {name: one.handler or one.runs for name, one in programs._commands.items()}
    return {name: one.__module__ for name, one in started.items() if one is not None and one.__module__ != SWITCH}


def test_the_list_names_the_module_of_every_program() -> None:
    registered, listed = _registered(), programs._modules
    assert listed.keys() == registered.keys()
    assert not [name for name, module in registered.items() if not f"{module}.".startswith(f"{listed[name]}.")]


@pytest.mark.parametrize(
    ("program", "left_out"),
    [
        ("sonic-db-cli", ("asyncio", "click", "jinja2", "sonic_sim.commands.config", "sonic_sim.commands.cfggen")),
        ("sonic-cfggen", ("asyncio", "click", "sonic_sim.commands.config", "sonic_sim.commands.show")),
        ("config", ("asyncio", "sonic_sim.commands.show")),
        ("show", ("asyncio",)),
    ],
)
def test_a_program_imports_what_it_needs(program: str, left_out: tuple[str, ...]) -> None:
    asked = f"import sonic_sim.commands, sys; from sonic_sim.shell.programs import _command; _command({program!r})"
    done = subprocess.run(
        [sys.executable, "-c", f"{asked}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    imported = set(done.stdout.split())
    assert "sonic_sim.shell.programs" in imported
    assert not imported & set(left_out)
