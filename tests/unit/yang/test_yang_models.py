"""Reading libyang's texts, and the refusals before it is asked at all. Nothing here needs libyang."""

import sys
from pathlib import Path

import pytest

from railweave.cli.main import main
from railweave.errors import RailweaveError
from railweave.yang.models import load_models, read_failure
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
    intent = Path(__file__).resolve().parents[3] / "intent" / "lab-4.yml"
    assert main(["check", str(intent), "--yang", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "railweave[yang]" in said
    assert "libyang2-dev" in said
    assert "Traceback" not in said
