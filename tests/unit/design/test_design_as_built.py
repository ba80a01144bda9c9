"""Lengths as they were built: read from a CSV beside the intent, checked, and used in place of those of the design."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from railweave.api.design.intent import design_text, designed_at, load_designed
from railweave.cabling.table import cables_csv
from railweave.errors import RefusedError
from railweave.intent.load import load_intent
from railweave.sonic.render.configure import configure
from railweave.templates import find_templates

ROOT = Path(__file__).resolve().parents[3]
LAB = (ROOT / "intent/lab-4.yml").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    monkeypatch.chdir(tmp_path)

    def made(table: str) -> Path:
        Path("lab.yml").write_text(f"{LAB}\ncabling: {{as_built: as-built.csv}}\n", encoding="utf-8")
        Path("as-built.csv").write_text(table, encoding="utf-8")
        return Path("lab.yml")

    return made


def lengths(path: Path) -> dict[tuple[str, str], int]:
    fabric = load_designed(path).fabric
    ports = fabric.ports_of
    return {(link.lower, ports[link.lower][link.lower_port].name): link.length_m for link in fabric.links}


def reports(path: Path) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        load_designed(path)
    return [
        f"{one.code} {one.where} {one.message}; {one.fix}"
        for one in refused.value.diagnostics
        if one.severity == "error"
    ]


def test_the_table_of_cables_with_measured_lengths_is_read_back(project: Callable[[str], Path]) -> None:
    table = cables_csv(design_text(LAB, "lab.yml").fabric).decode()
    assert set(lengths(project(table)).values()) == {20, 30}
    measured = table.replace("0,0,20,aoc", "0,0,7.2,aoc").replace(",30,aoc", ",,aoc")
    found = lengths(project(measured))
    assert {end: length for end, length in found.items() if length not in {20, 30}} == {
        (f"gpu{number}", "rail0"): 8 for number in (1, 2, 3, 4)
    }


def test_a_row_may_name_either_end_and_columns_come_in_any_order(project: Callable[[str], Path]) -> None:
    found = lengths(project("length_m,a_port,note,a_device\n4,Ethernet0,x,lab-leaf1\n5,rail1,,gpu2\n"))
    assert (found["gpu1", "rail0"], found["gpu2", "rail1"], found["gpu3", "rail0"]) == (4, 5, 20)


def test_headroom_is_that_of_the_measured_length(project: Callable[[str], Path]) -> None:
    path = project("a_device,a_port,length_m\ngpu1,rail0,3\n")
    path.write_text(
        path.read_text(encoding="utf-8").replace("sonic-vs", "nvidia-sn4700").replace("oversubscription", "# "),
        encoding="utf-8",
    )
    fabric = load_designed(path).fabric
    leaf = fabric.switch_of["lab-leaf1"]
    found = configure(fabric, leaf, find_templates()).config_db()["CABLE_LENGTH"]["AZURE"]
    links = fabric.links_of[leaf.name]
    assert {found[leaf.panel.ports[one.port_of(leaf.name)].name] for one in links if one.lower == "gpu1"} == {"3m"}
    assert {found[leaf.panel.ports[one.port_of(leaf.name)].name] for one in links if one.lower == "gpu2"} == {"20m"}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            "a_device,a_port\ngpu1,rail0\n",
            "RW303 as-built.csv:1:1 the first line names no column length_m; start from the rendered cables.csv",
        ),
        (
            "",
            "RW303 as-built.csv:1:1 the first line names no column a_device, a_port, length_m; start from the"
            " rendered cables.csv",
        ),
        (
            "a_device,a_port,length_m\ngpu1,rail0,3 m\n",
            "RW303 as-built.csv:2:12 `3 m` is not a valid cable length; write meters without a unit, up to 10,000",
        ),
        (
            "a_device,a_port,length_m\n,rail0,3\n",
            "RW303 as-built.csv:2:8 a length without a device and port; fill in a_device and a_port",
        ),
        (
            "a_device,a_port,length_m\ngpu9,rail0,3\n",
            "RW303 as-built.csv:2:12 the fabric has no device `gpu9`; did you mean `gpu4`? name a device of the fabric,"
            " or remove the row",
        ),
        (
            "a_device,a_port,length_m\ngpu1,rail7,3\n",
            "RW303 as-built.csv:2:12 no cable ends at gpu1 rail7; did you mean `rail1`? name the port as"
            " cables.csv does",
        ),
        (
            "a_device,a_port,length_m\ngpu1,rail0,3\nlab-leaf1,Ethernet0,4\n",
            "RW303 as-built.csv:3:21 the cable at lab-leaf1 Ethernet0 has a length in line 2 already; keep one of"
            " the two rows",
        ),
        (
            "a_device,a_port,b_device,b_port,length_m\ngpu1,rail0,lab-leaf2,Ethernet0,3\n",
            "RW303 as-built.csv:2:32 the cable at gpu1 rail0 leads to lab-leaf1 Ethernet0, not to lab-leaf2 Ethernet0;"
            " correct the row, or the cabling on site",
        ),
        (
            "a_device,a_port,length_m\ngpu1,rail0,31\n",
            "P-4 as-built.csv:2:12 aoc (active optical cable) reaches 30 m between gpu1 rail0 and lab-leaf1 Ethernet0,"
            " and the cable has 31 m; use a shorter cable, or a medium that reaches",
        ),
    ],
)
def test_a_wrong_row_is_refused_at_its_place(project: Callable[[str], Path], table: str, expected: str) -> None:
    assert reports(project(table)) == [expected]


@pytest.mark.parametrize("row", ["gpu1,rail0,x", "gpu99,rail0,3"])
def test_of_a_table_of_another_fabric_the_first_wrong_rows_are_reported(
    project: Callable[[str], Path], row: str
) -> None:
    found = reports(project("a_device,a_port,length_m\n" + f"{row}\n" * 50))
    assert len(found) == 21
    assert "the rows from here on were not checked; correct the rows above first" in found[-1]


def test_a_line_that_is_no_csv_is_refused(project: Callable[[str], Path]) -> None:
    path = project("a_device,a_port,length_m\n" + "x" * 200_000 + ",rail0,3\n")
    assert reports(path) == [
        "RW303 as-built.csv:2:1 the line is not valid CSV: field larger than field limit (131072); correct the line"
    ]


def test_a_file_that_is_not_there_or_no_text_is_refused(project: Callable[[str], Path]) -> None:
    path = project("")
    Path("as-built.csv").write_bytes(b"a_device,a_port,length_m\n\xff\n")
    assert reports(path) == ["RW303 as-built.csv the file is not UTF-8 text; save the table as CSV in UTF-8"]
    Path("as-built.csv").unlink()
    assert reports(path) == [
        "RW303 lab.yml:20:21 as-built.csv cannot be read: No such file or directory; write the name of a file beside"
        " the intent, or leave out `as_built`"
    ]


@pytest.mark.parametrize("name", ["/etc/lengths.csv", "../lengths.csv", "lengths.txt"])
def test_only_a_table_beside_the_intent_is_read(name: str) -> None:
    with pytest.raises(RefusedError, match="is not a CSV file beside the intent"):
        design_text(f"{LAB}\ncabling: {{as_built: {name}}}\n", "lab.yml")


def test_lengths_of_a_revision_are_those_of_its_own_table(project: Callable[[str], Path]) -> None:
    path = project("a_device,a_port,length_m\ngpu1,rail0,3\n")
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@example.org commit -qm first"):
        subprocess.run(["git", *words.split()], check=True)
    before = load_intent(path).sha256
    project("a_device,a_port,length_m\ngpu1,rail0,9\n")
    assert load_intent(path).sha256 != before
    assert [designed_at(one, path).fabric.links[0].length_m for one in ("HEAD", "", "lab.yml")] == [3, 9, 9]
    assert designed_at("HEAD", path).intent.sha256 == before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda file, other: file.symlink_to(other), "leads out of"),
        (lambda file, other: file.symlink_to(file), "symbolic links"),
        (lambda file, other: file.symlink_to("/dev/zero"), "leads out of"),
        (lambda file, other: os.mkfifo(file), "it is not a regular file"),
        (lambda file, other: file.mkdir(), "Is a directory"),
    ],
)
def test_what_is_no_file_beside_the_intent_is_refused_at_once(
    project: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory, make: Callable[..., None], words: str
) -> None:
    intent = project("")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "secrets.csv"
    elsewhere.write_text("a_device,a_port,length_m\n")
    Path("as-built.csv").unlink()
    make(Path("as-built.csv"), elsewhere)
    (report,) = reports(intent)
    assert words in report
    assert "lab.yml" in report


def test_a_link_to_another_table_beside_the_intent_is_read(project: Callable[[str], Path]) -> None:
    intent = project("")
    Path("as-built.csv").rename("as-built-2026.csv")
    Path("as-built-2026.csv").write_text("a_device,a_port,length_m\nlab-leaf1,Ethernet112,17\n")
    Path("as-built.csv").symlink_to("as-built-2026.csv")
    assert 17 in lengths(intent).values()
