"""Reading the catalog: lazily, once, and with errors that name the file."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from railweave.catalog.decode import CatalogError
from railweave.catalog.load import Catalog, load_catalog


@pytest.fixture
def broken(tmp_path: Path) -> Callable[..., Catalog]:
    """Return a catalog of one switch file whose object was changed, or whose text is given."""

    def make(change: Callable[[dict[str, Any]], object] | None = None, text: str | None = None) -> Catalog:
        source = files("railweave.catalog").joinpath("data", "switches", "nvidia-sn4700.json")
        document = json.loads(source.read_text(encoding="utf-8"))
        if change is not None:
            change(document)
        folder = tmp_path / "switches"
        folder.mkdir()
        (folder / "nvidia-sn4700.json").write_text(json.dumps(document) if text is None else text, encoding="utf-8")
        return Catalog(tmp_path)

    return make


def test_the_catalog_and_its_models_are_one_object_each() -> None:
    assert load_catalog() is load_catalog()
    assert load_catalog().switch("nvidia-sn4700") is load_catalog().switch("nvidia-sn4700")


def test_an_unknown_id_is_none_or_a_key_error() -> None:
    catalog = load_catalog()
    assert catalog.find_switch("cisco-9000") is None
    assert catalog.find_nic("ne2000") is None
    assert catalog.find_medium("string") is None
    assert catalog.find_pcie_slot("isa") is None
    for look_up in (catalog.switch, catalog.nic, catalog.pcie_slot):
        with pytest.raises(KeyError):
            look_up("unknown")


def test_an_id_that_looks_like_a_path_finds_nothing() -> None:
    assert load_catalog().find_switch("../nics") is None


def test_only_the_models_asked_for_are_read(tmp_path: Path) -> None:
    (tmp_path / "switches").mkdir()
    (tmp_path / "switches" / "broken.json").write_text("{", encoding="utf-8")
    catalog = Catalog(tmp_path)
    assert catalog.switch_ids() == ("broken",)
    assert catalog.find_switch("other") is None
    with pytest.raises(CatalogError):
        catalog.switch("broken")


def test_a_missing_field_is_named_with_its_file(broken: Callable[..., Catalog]) -> None:
    catalog = broken(lambda document: document.pop("platform"))
    with pytest.raises(CatalogError, match=r"switches/nvidia-sn4700\.json: platform: the field is missing"):
        catalog.switch("nvidia-sn4700")


def test_broken_json_is_reported_with_line_and_column(broken: Callable[..., Catalog]) -> None:
    catalog = broken(text='{\n  "id": nonsense\n}')
    with pytest.raises(CatalogError, match=r"nvidia-sn4700\.json: line 2, column 9"):
        catalog.switch("nvidia-sn4700")


def test_a_field_that_is_none_is_refused(broken: Callable[..., Catalog]) -> None:
    catalog = broken(lambda document: document["asic"].update(lane=8))
    with pytest.raises(CatalogError, match=r"asic\.lane: "):
        catalog.switch("nvidia-sn4700")


def test_lanes_that_are_no_numbers_are_quoted(broken: Callable[..., Catalog]) -> None:
    catalog = broken(lambda document: document["cages"].append([33, 33, "Ethernet256", "a,b"]))
    with pytest.raises(CatalogError, match=r"cages\[32\]\[3\]: String should match pattern"):
        catalog.switch("nvidia-sn4700")


def test_an_id_that_is_not_the_file_name_is_refused(broken: Callable[..., Catalog]) -> None:
    catalog = broken(lambda document: document.update(id="sn4700"))
    with pytest.raises(CatalogError, match="the id is 'sn4700'"):
        catalog.switch("nvidia-sn4700")


def test_a_file_that_holds_a_list_is_refused(broken: Callable[..., Catalog]) -> None:
    with pytest.raises(CatalogError, match=r"nvidia-sn4700\.json: the file: Input should be an object"):
        broken(text="[]").switch("nvidia-sn4700")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"nics\.json: the file is missing"):
        Catalog(tmp_path).nic_ids()


def test_the_package_alone_imports_nothing() -> None:
    program = "import sys, railweave.catalog; print([m for m in sys.modules if m.startswith('railweave.catalog.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
