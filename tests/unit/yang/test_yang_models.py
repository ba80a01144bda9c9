"""Reading libyang's texts, and the refusals before it is asked at all. Nothing here needs libyang."""

import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from railweave.cli.main import main
from railweave.errors import RailweaveError
from railweave.yang import binding
from railweave.yang.binding import Binding, load_binding, read_failure
from railweave.yang.models import load_models
from railweave.yang.schema import Failure

PREFIX = "failed to parse data tree: "


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            'Unsatisfied range - value "9300" is out of the allowed range.: Data location '
            "\"/sonic-port:sonic-port/PORT/PORT_LIST[name='Ethernet0']/mtu\", line number 5.",
            Failure(
                'Unsatisfied range - value "9300" is out of the allowed range.',
                "/sonic-port:sonic-port/PORT/PORT_LIST[name='Ethernet0']/mtu",
                5,
            ),
        ),
        (
            'Mandatory node "speed" instance does not exist.: Schema location "/sonic-port:sonic-port/PORT/speed".',
            Failure('Mandatory node "speed" instance does not exist.', "/sonic-port:sonic-port/PORT/speed"),
        ),
        (
            "Must condition not satisfied, Try adding PORT: {}, Example: 'Ethernet0': {}: Schema location "
            '"/a:a/A", data location "/a:a/B".: a second error: Data location "/c:c".',
            Failure("Must condition not satisfied, Try adding PORT: {}, Example: 'Ethernet0': {}", "/a:a/B"),
        ),
        ("Invalid DSCP", Failure("Invalid DSCP")),
    ],
)
def test_the_first_error_is_read_with_its_place(text: str, fault: Failure) -> None:
    assert read_failure(PREFIX + text) == fault


def test_a_folder_without_models_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(RailweaveError, match=r"no YANG models are there.*usr/local/yang-models"):
        load_models(tmp_path)


def test_without_libyang_the_command_names_the_extra_and_the_debian_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sonic-port.yang").write_text("module sonic-port {}\n", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "libyang", None)
    load_binding.cache_clear()
    intent = Path(__file__).resolve().parents[3] / "intent" / "lab-4.yml"
    assert main(["check", str(intent), "--yang", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "railweave[yang]" in said
    assert "libyang2-dev" in said
    assert "Traceback" not in said


@dataclass(frozen=True)
class Item:
    """An error as the binding 3 lists it."""

    msg: str | None
    data_path: str | None = None
    schema_path: str | None = None
    line: int | None = None


class Error(Exception):
    """What the binding 3 raises; its text joins what ``errors`` holds apart."""

    def __init__(self, *errors: Item) -> None:
        super().__init__("failed to parse data tree: Invalid enumeration value: Data path: /a:a (line 5)")
        self.errors = errors


@pytest.mark.parametrize(
    ("errors", "failure"),
    [
        ([Item("Invalid value.", "/a:a/A", None, 5), Item("more")], Failure("Invalid value.", "/a:a/A", 5)),
        ([Item('Mandatory node "B" lacks.', None, "/a:a/B")], Failure('Mandatory node "B" lacks.', "/a:a/B")),
        ([Item('Mandatory node "B" lacks.', "/a:a", "/a:a/B")], Failure('Mandatory node "B" lacks.', "/a:a/B")),
        ([Item(None)], Failure("")),
        ([], Failure("Invalid enumeration value: Data path: /a:a (line 5)")),
    ],
)
def test_the_binding_3_names_the_place_beside_the_words(errors: list[Item], failure: Failure) -> None:
    assert Binding(None, 3).failure(Error(*errors)) == failure
    assert Binding(None, 2).failure(Exception(f"{PREFIX}Invalid DSCP")) == Failure("Invalid DSCP")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Binding]]:
    """Load the binding of a machine with this version of it (empty: none) and these C libraries."""

    def load(version: str, libraries: tuple[int, ...], fails: str = "") -> Binding:
        def module(name: str) -> types.ModuleType:
            if fails:
                raise ImportError(fails)
            return types.ModuleType(name)

        def version_of(name: str) -> str:
            if not version:
                raise PackageNotFoundError(name)
            return version

        monkeypatch.setattr(binding, "import_module", module)
        monkeypatch.setattr(binding, "version_of", version_of)
        monkeypatch.setattr(binding, "_has_library", {f"libyang.so.{number}" for number in libraries}.__contains__)
        load_binding.cache_clear()
        return load_binding()

    yield load
    load_binding.cache_clear()


@pytest.mark.parametrize("version", ["2.7.1", "2.8.4", "3.0.0", "3.3.0"])
def test_the_binding_is_used_by_its_major_version(machine: Callable[..., Binding], version: str) -> None:
    assert machine(version, (2, 3)).major == int(version[0])


@pytest.mark.parametrize(
    ("version", "libraries", "fails", "words"),
    [
        ("", (2,), "No module named 'libyang'", ["not installed", "libyang==2.*", "railweave[yang]", "libyang2-dev"]),
        ("", (3,), "No module named 'libyang'", ["not installed", "libyang==3.*", "railweave[yang3]", "libyang-dev"]),
        ("", (), "No module named 'libyang'", ["C library is not there", "libyang2-dev", "[yang]", "[yang3]"]),
        ("", (1, 4), "No module named 'libyang'", ["in version 1, 4 alone", "[yang]", "[yang3]"]),
        ("2.7.1", (3,), "libyang.so.2: cannot open shared object file",
         ["2.7.1 cannot be loaded: libyang.so.2", "has the C library libyang 3", "railweave[yang3]"]),
        ("5.1.0", (2, 3), "", ["5.1.0 is not supported; 2 and 3 are", "libyang==3.*"]),
        ("1.7.0", (2,), "", ["1.7.0 is not supported", "libyang==2.*"]),
    ],
)  # fmt: skip
def test_where_no_binding_fits_the_error_names_the_one_for_the_c_library(
    machine: Callable[..., Binding], version: str, libraries: tuple[int, ...], fails: str, words: list[str]
) -> None:
    with pytest.raises(RailweaveError) as refused:
        machine(version, libraries, fails)
    for word in words:
        assert word in str(refused.value)


def test_a_library_is_there_where_it_can_be_loaded() -> None:
    assert binding._has_library("libc.so.6")
    assert not binding._has_library("libyang.so.none")
