"""The modules of the Python API under the paths and names that they had in 0.1, each with a warning."""

import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

from railweave import api
from railweave.api.deprecated import MOVED

OLD = {
    module: names.split()
    for module, names in (
        line.split(": ") for line in Path(__file__).with_name("old_names.txt").read_text().splitlines()
    )
}
"""Every public name of every module before they were arranged by nouns."""


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Import earlier modules afresh, and leave none of them behind."""
    for module in MOVED:
        monkeypatch.delitem(sys.modules, f"railweave.api.{module}", raising=False)


@pytest.mark.parametrize("module", OLD)
def test_every_old_name_is_importable(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"railweave.api.{module}"
    monkeypatch.setitem(vars(api), module, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = import_module(path)
    assert [name for name in OLD[module] if not hasattr(found, name)] == []
    assert [warning.category for warning in caught] == ([DeprecationWarning] if module in MOVED else [])
    if module in MOVED:
        said = str(caught[0].message)
        assert said.startswith(f"{path} is deprecated and ends with railweave 0.3: ")
        for home in MOVED[module]:
            assert f"railweave.api.{home}" in said


def test_every_module_that_moved_is_tested() -> None:
    assert set(MOVED) <= set(OLD)


def test_the_warning_is_at_the_line_of_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(api), "buying", None)
    with pytest.warns(
        DeprecationWarning, match=r"import from railweave\.api, or from railweave\.api\.reports\.bill"
    ) as seen:
        exec("from railweave.api.buying import bom")
    assert seen[0].filename == "<string>"


def test_a_new_module_and_its_old_path_are_one_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(api), "sim", None)
    with pytest.warns(DeprecationWarning, match=r"railweave\.api\.sim is deprecated"):
        assert import_module("railweave.api.sim") is import_module("railweave.api.simulator.sim")


def test_public_names_need_no_module() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in api.__all__:
            assert getattr(api, name)
