"""`links` and the exporter on any readings of switches: nothing is raised, and no counter that is missing is a grade A.

The readings are those of `health`, with the counters of codewords that grade a link.
"""

from typing import Any

from damaged_readings import copied, damage
from examples import more
from health_trials import LEAF, HealthTrial
from hypothesis import given
from hypothesis import strategies as st
from monitored_switch import reading, sampler
from telemetry_samples import samples_of

from railweave.cabling.cable_names import cable_names
from railweave.catalog.load import load_catalog
from railweave.exporter.lines import exposition
from railweave.links.errors import BINS
from railweave.links.grades import Grade
from railweave.links.grading import LinkGrader, SwitchLinks

BASE = HealthTrial()
CLEAN = 10**11


def counted(readings: dict[str, Any], codewords: int) -> dict[str, Any]:
    """Return a copy of readings in which every port has counted so many clean codewords."""
    copies = copied(readings)
    for reading_of in copies.values():
        for row in reading_of["ports"].values():
            row.update(dict.fromkeys(BINS, 0) | {BINS[0]: codewords})
    return copies


BEFORE = counted(BASE.before, CLEAN)
AFTER = counted(BASE.after, 2 * CLEAN)
NAMES = cable_names(BASE.fabric, load_catalog())


def grades(before: dict[str, Any], after: dict[str, Any], ports: Any) -> dict[str, tuple[Grade, tuple[str, ...]]]:
    readings = {name: SwitchLinks(before[name], after[name], ports) for name in before}
    cables = LinkGrader(BASE.fabric, NAMES, {}).grade(readings)
    return {cable.cable: (cable.grade, tuple(reason.text for reason in cable.reasons)) for cable in cables}


def test_readings_without_damage_are_grade_a() -> None:
    assert {grade for grade, _ in grades(BEFORE, AFTER, {}).values()} == {Grade.A}


@more
@given(data=st.data())
def test_any_pair_of_readings_grades_every_cable(data: st.DataObject) -> None:
    before, after = counted(BEFORE, CLEAN), counted(AFTER, 2 * CLEAN)
    for _ in range(data.draw(st.integers(1, 8))):
        data.draw(damage(data.draw(st.sampled_from((before, after)))))
    states = st.sampled_from([None, "N/A", {}, {"flap_count": "N/A", "info": []}])
    modules = data.draw(st.dictionaries(st.sampled_from(("Ethernet0", "Ethernet112")), states))
    graded = grades(before, after, modules)
    assert graded.keys() == set(NAMES)
    for grade, reasons in graded.values():
        assert (grade is Grade.A) == (not reasons)
        assert not any("nan" in reason for reason in reasons)


@more
@given(data=st.data())
def test_a_port_whose_codewords_are_not_counted_is_named(data: st.DataObject) -> None:
    after = counted(AFTER, 2 * CLEAN)
    port = data.draw(st.sampled_from(sorted(after[LEAF]["ports"])))
    value = data.draw(st.sampled_from(["N/A", None, -1, 2**64 - 1]))
    after[LEAF]["ports"][port] |= dict.fromkeys(BINS, value)
    poor = {name: reasons for name, (grade, reasons) in grades(BEFORE, after, {}).items() if grade is not Grade.A}
    (reasons,) = poor.values()
    assert reasons == (f"{LEAF}:{port} is not measured: its counter {BINS[0]} is missing in one of two readings",)


@more
@given(data=st.data())
def test_any_readings_give_a_page_that_can_be_read(data: st.DataObject) -> None:
    taken = sampler()
    for _ in range(2):
        readings = {LEAF: counted(BEFORE, CLEAN)[LEAF]}
        for _ in range(data.draw(st.integers(0, 4))):
            data.draw(damage(readings))
        answer = {"counters": readings[LEAF], "link_state": {"ports": {}}, "error_rates": {"Ethernet0": "N/A"}}
        sampled = taken(reading(answer))
        page = samples_of(exposition(sampled.samples.items()))
        counters = [key for key in page if key[0].endswith("_total")]
        assert counters or sampled.missing
