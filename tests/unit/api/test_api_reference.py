"""The reference of the Python API: its examples run, and it leaves nothing out."""

import contextlib
import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_rig import CommandRig

from railweave import api

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "api.md"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    rig = CommandRig(tmp_path / "project", "lab-4.yml")
    rig.in_process = True
    rig.run("sim", "up")
    try:
        with contextlib.chdir(rig.folder):
            yield rig.folder
    finally:
        rig.run("sim", "down", "--all", status=None)


def test_the_examples_of_the_reference_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert tried > 20
    assert not failed, capsys.readouterr().out
    assert {path.name for path in project.iterdir()} >= {"build", ".railweave"}


def test_the_api_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rig = CommandRig(tmp_path / "project", "lab-4.yml")
    with contextlib.chdir(rig.folder):
        opened = api.open_project(rig.intent)
        api.check(opened)
        api.size(opened)
        api.render(opened, Path("out"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", api.__all__)
def test_every_name_is_in_the_reference(name: str) -> None:
    assert re.search(rf"\b{name}\b", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [name for name in api.__all__ if inspect.isfunction(getattr(api, name))])
def test_every_function_is_typed_and_says_what_it_does(name: str) -> None:
    function = getattr(api, name)
    assert inspect.getdoc(function)
    parameters = inspect.signature(function).parameters.values()
    assert all(one.annotation is not inspect.Parameter.empty for one in parameters)
    assert inspect.signature(function).return_annotation is not inspect.Signature.empty


def test_an_intent_is_the_argument_the_environment_or_the_only_one(tmp_path: Path) -> None:
    named = {"RAILWEAVE_INTENT": "intent/b.yml"}
    (tmp_path / "intent").mkdir()
    with contextlib.chdir(tmp_path):
        assert api.open_project("a.yml", environ=named).intent == Path("a.yml")
        assert api.open_project(environ=named).intent == Path("intent/b.yml")
        Path("intent/c.yml").touch()
        assert api.open_project(environ={}).intent == Path("intent/c.yml")
