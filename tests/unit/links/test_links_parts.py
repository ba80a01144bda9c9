"""Modules against the bill of materials, and the part of a poor cable to look at first."""

import pytest

from railweave.cabling.modules import PlannedModule
from railweave.catalog.load import load_catalog
from railweave.links.grades import Grade
from railweave.links.optics import Module, breaches_of
from railweave.links.parts import part_reasons
from railweave.links.suspects import SuspectEnd, suspect_of

DR4 = PlannedModule(("QSFP-DD", "QSFP-DD800"), "400G-DR4", 4, 20, False, False, "leaf1 1")
DAC = PlannedModule(("OSFP",), "400G-CR4", 4, 2, True, True, "leaf1 1")
QSFP_DD = "QSFP-DD Double Density 8X Pluggable Transceiver"
OSFP = "OSFP 8X Pluggable Transceiver"


def texts(planned: PlannedModule, **info: str) -> list[str]:
    reasons = part_reasons("leaf1:Ethernet0", Module(info, {}, {}), planned)
    assert {reason.grade for reason in reasons} <= {Grade.B}
    return [
        reason.text.removeprefix("module of leaf1:Ethernet0 ").removesuffix(" (bill of materials)")
        for reason in reasons
    ]


@pytest.mark.parametrize(
    ("planned", "info", "expected"),
    [
        (DR4, {"type": QSFP_DD, "cable_length": "0.0", "specification_compliance": "sm_media_interface"}, []),
        # Multimode modules report the reach of their fiber as a length.
        (DR4, {"type": QSFP_DD, "cable_length": "50"}, []),
        (DR4, {}, []),
        (DR4, {"type": "N/A", "cable_length": "N/A", "specification_compliance": "N/A"}, []),
        (DR4, {"type": "QSFP28 or later"}, ["is QSFP28, QSFP-DD or QSFP-DD800 400G-DR4 is planned"]),
        (
            DR4,
            {"type": QSFP_DD, "cable_length": "3.0", "specification_compliance": "passive_copper_media_interface"},
            ["is copper, optical (400G-DR4) is planned"],
        ),
        (DAC, {"type": OSFP, "cable_length": "2.0", "specification_compliance": "passive_copper_media_interface"}, []),
        (DAC, {"type": OSFP, "cable_length": "3.0 "}, ["has a cable of 3 m, 2 m is planned"]),
        (
            DAC,
            {"type": QSFP_DD, "cable_length": "1.0"},
            ["is QSFP-DD or QSFP-DD800, OSFP 400G-CR4 is planned", "has a cable of 1 m, 2 m is planned"],
        ),
    ],
)
def test_a_module_that_is_not_the_planned_one_is_named(
    planned: PlannedModule, info: dict[str, str], expected: list[str]
) -> None:
    assert texts(planned, **info) == expected


def test_every_medium_with_fixed_ends_is_copper_or_an_active_optical_cable() -> None:
    fixed = {medium.id for medium in load_catalog().media() if not medium.fiber}
    assert fixed == {"dac", "acc", "aoc"}


THRESHOLDS = {
    "rxpowerlowwarning": "-8", "rxpowerhighwarning": "4", "txpowerlowwarning": "-3", "txpowerhighwarning": "4",
    "txbiaslowwarning": "20", "txbiashighwarning": "90", "templowwarning": "0", "temphighwarning": "70",
}  # fmt: skip


def end(name: str, *, errors: bool = False, copper: bool | None = False, **readings: str) -> SuspectEnd:
    return SuspectEnd(name, breaches_of(Module({}, readings, THRESHOLDS)), errors, copper)


@pytest.mark.parametrize(
    ("near", "far", "expected"),
    [
        (end("a", rx2power="-9", errors=True), end("b"), "fiber or connector towards a"),
        (end("a", rx2power="-9", errors=True), end("b", tx2bias="99"), "laser of the module of b"),
        (end("a", errors=True), end("b", tx1power="-4"), "laser of the module of b"),
        (end("a", errors=True, temperature="80"), end("b", rx1power="-9"), "cooling at a"),
        (end("a", errors=True, copper=True), end("b", errors=True, copper=True), "copper cable"),
        (end("a", errors=True), end("b"), "fiber towards a, or the module of b"),
        (end("a", errors=True), end("b", errors=True), ""),
    ],
)
def test_the_suspect_is_the_cause_and_not_what_follows_from_it(
    near: SuspectEnd, far: SuspectEnd, expected: str
) -> None:
    assert suspect_of(Grade.C, [near, far]) == expected
    assert suspect_of(Grade.A, [near, far]) == ""


def test_one_end_alone_accuses_no_far_module() -> None:
    assert suspect_of(Grade.C, [end("a", errors=True)]) == ""
