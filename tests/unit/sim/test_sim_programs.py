"""The lists of programs and commands say which module has which; a process for one imports that module only."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

import sonic_sim.commands
from sonic_sim.commands import config as config_commands
from sonic_sim.commands.config.root import config
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


def _modules_of(command: click.Command) -> Iterator[str]:
    """Yield the modules of the functions that a command and those below it call."""
    if command.callback is not None:
        function = inspect.getclosurevars(command.callback).nonlocals["function"]
        yield getattr(function, "func", function).__module__  # of a partial function its own
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        yield from _modules_of(inner)


def test_the_list_of_config_names_the_modules_of_every_command() -> None:
    listed = {
        (f"{config_commands.__name__}.{module}", name)
        for module, names in config_commands._COMMANDS.items()
        for name in names.split()
    }
    names = config.list_commands(click.Context(config))
    found = {(module, name) for name in names for module in _modules_of(config.commands[name])}
    placeholders = f"{config_commands.__name__}.root"
    assert {(module, name) for module, name in found if module != placeholders} == listed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "left_out"),
    [
        ("sonic-db-cli", ("asyncio", "click", "jinja2", "sonic_sim.commands.config", "sonic_sim.commands.cfggen")),
        ("sonic-cfggen", ("asyncio", "click", "sonic_sim.commands.config", "sonic_sim.commands.show")),
        ("config", ("asyncio", "sonic_sim.commands.show", "sonic_sim.commands.config.updater", "sonic_sim.yang.check")),
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


@pytest.mark.slow
def test_the_simulator_starts_no_process_when_it_is_imported() -> None:
    code = (
        "import sys; started = []\n"
        "sys.addaudithook(lambda event, what: started.append(what[0]) if event == 'subprocess.Popen' else None)\n"
        "import sonic_sim.daemon; print(started)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
