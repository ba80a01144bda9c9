"""The reference of the Python API: its examples run, and it leaves nothing out."""

import contextlib
import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from api_examples import PAGE, failed_examples, page_examples
from command_rig import CommandRig

from railweave import api
from railweave.cli.main import app

pytestmark = pytest.mark.slow

RENAMED = {
    "rollout list": "rollout.history",
    "rollout show": "rollout.find",
    "rollout continue": "rollout.unpause",
    "sim power-off": "sim.power",
    "sim power-on": "sim.power",
    "sim ssh": "sim.ssh_command",
    "acceptance read": "acceptance.read_outputs",
    "links show": "links",
    # It serves until it is ended, which `exporter_once` does not.
    "exporter": "serve_exporter",
    "links drain": "drain_links",
    "links soak": "soak_links",
    "telemetry render": "render_telemetry",
}
"""Commands whose function has another name: Python's own words, and what a terminal does."""


def public() -> Iterator[tuple[str, Any]]:
    """Yield every public function and class by its name in ``railweave.api``."""
    for name in api.__all__:
        found = getattr(api, name)
        if isinstance(found, ModuleType):
            yield from ((f"{name}.{inner}", getattr(found, inner)) for inner in found.__all__)
        else:
            yield name, found


PUBLIC = dict(public())
FUNCTIONS = {name: found for name, found in PUBLIC.items() if inspect.isfunction(found)}


def commands() -> Iterator[str]:
    """Yield every command as it is typed."""

    def below(command: Any, words: tuple[str, ...]) -> Iterator[str]:
        inner = getattr(command, "commands", {})
        for name, one in inner.items():
            yield from below(one, (*words, name))
        if words and not inner:
            yield " ".join(words)

    yield from below(typer.main.get_command(app), ())


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    rig = CommandRig(tmp_path / "project", "lab-4.yml")
    rig.in_process = True
    try:
        with contextlib.chdir(rig.folder):
            yield rig.folder
    finally:
        rig.run("sim", "down", "--all", status=None)


def test_the_examples_of_the_reference_run(project: Path) -> None:
    assert not failed_examples(lab=False)
    assert {path.name for path in project.iterdir()} >= {"build", ".railweave"}


def test_the_api_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rig = CommandRig(tmp_path / "project", "lab-4.yml")
    with contextlib.chdir(rig.folder):
        opened = api.open_project(rig.intent)
        api.check(opened)
        api.size(opened)
        api.render(opened, Path("out"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_name_has_an_example_and_is_explained(name: str) -> None:
    sources = [example.source for example in page_examples()]
    assert any(re.search(rf"\bapi\.{re.escape(name)}\b", source) for source in sources)
    prose = doctest.DocTestParser().parse(PAGE.read_text(encoding="utf-8"))
    assert any(re.search(rf"`{re.escape(name)}\b", part) for part in prose if isinstance(part, str))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_is_typed_and_documented(name: str) -> None:
    function: Callable[..., Any] = FUNCTIONS[name]
    assert inspect.getdoc(function)
    parameters = inspect.signature(function).parameters.values()
    assert all(one.annotation is not inspect.Parameter.empty for one in parameters)
    assert inspect.signature(function).return_annotation is not inspect.Signature.empty


@pytest.mark.parametrize("command", sorted(commands()))
def test_every_command_is_a_function(command: str) -> None:
    assert RENAMED.get(command, command.replace(" ", ".")) in FUNCTIONS


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = api.nothing  # type: ignore[attr-defined]


def test_an_intent_is_the_argument_the_environment_or_the_only_one(tmp_path: Path) -> None:
    named = {"RAILWEAVE_INTENT": "intent/b.yml"}
    (tmp_path / "intent").mkdir()
    with contextlib.chdir(tmp_path):
        assert api.open_project("a.yml", environ=named).intent == Path("a.yml")
        assert api.open_project(environ=named).intent == Path("intent/b.yml")
        Path("intent/c.yml").touch()
        assert api.open_project(environ={}).intent == Path("intent/c.yml")
