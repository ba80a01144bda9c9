"""What a scrape gets of the last readings, at moments of a clock that the test drives."""

from telemetry_samples import samples_of

from railweave.exporter.model import SwitchSamples
from railweave.exporter.store import ReadingStore
from railweave.telemetry import metrics

LINE = 'sonic_link_flaps_total{device="a",port="Ethernet0"} 4\n'


class Time:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def stored(*maintenance: str, missing: tuple[str, ...] = (), timer_s: float = 0.0) -> SwitchSamples:
    return SwitchSamples({metrics.FLAPS: LINE}, frozenset(maintenance), missing, timer_s=timer_s)


def store_of(*names: str) -> tuple[ReadingStore, Time]:
    time = Time()
    return ReadingStore(names, 15, time, "1.2"), time


def values(text: str) -> dict[str, float]:
    """Return samples by name and the labels beside the device."""
    read = {}
    for (name, labels), value in samples_of(text).items():
        rest = ",".join(value for label, value in sorted(labels) if label != "device")
        read[f"{name} {rest}".strip()] = value
    return read


def test_before_the_first_reading_nothing_is_said_of_a_switch() -> None:
    store, _ = store_of("a")
    assert values(store.page("a")) == {
        f"railweave_maintenance {state}": 0 for state in ("drained", "tsa", "rolling", "replaced")
    }


def test_a_page_has_the_last_reading_with_its_age() -> None:
    store, time = store_of("a", "b")
    store.begin("a")
    assert store.put("a", stored("drained")) is None
    store.put_drift("a", 3)
    time.now += 4
    assert store.page("a") == (
        "# HELP railweave_up 1 if the switch answered the last reading\n"
        "# TYPE railweave_up gauge\n"
        'railweave_up{device="a"} 1\n'
        "# HELP railweave_reading_age_seconds seconds since the last complete reading\n"
        "# TYPE railweave_reading_age_seconds gauge\n"
        'railweave_reading_age_seconds{device="a"} 4.000\n'
        "# HELP railweave_maintenance 1 while a switch is drained, in TSA, rolling or being replaced\n"
        "# TYPE railweave_maintenance gauge\n"
        'railweave_maintenance{device="a",state="drained"} 1\n'
        'railweave_maintenance{device="a",state="tsa"} 0\n'
        'railweave_maintenance{device="a",state="rolling"} 0\n'
        'railweave_maintenance{device="a",state="replaced"} 0\n'
        "# HELP railweave_drift_rows rows and FRR lines that differ from the intent\n"
        "# TYPE railweave_drift_rows gauge\n"
        'railweave_drift_rows{device="a"} 3\n'
        "# HELP railweave_other_program 1 if another version of railweave-switch answered\n"
        "# TYPE railweave_other_program gauge\n"
        'railweave_other_program{device="a"} 0\n'
        "# HELP sonic_link_flaps_total times that the link went down and up\n"
        "# TYPE sonic_link_flaps_total counter\n"
        f"{LINE}"
    )


def test_a_switch_that_hangs_is_down_after_the_bound_and_others_are_not() -> None:
    store, time = store_of("a", "b")
    for name in ("a", "b"):
        store.begin(name)
        store.put(name, stored())
    time.now += 15
    store.begin("a")
    time.now += 9
    assert values(store.page("a"))["railweave_up"] == 1
    time.now += 2
    assert values(store.page("a"))["railweave_up"] == 0
    assert values(store.page("b"))["railweave_up"] == 1
    # It answers in the end.
    store.put("a", stored())
    assert values(store.page("a"))["railweave_up"] == 1


def test_one_lost_reading_leaves_no_gap_and_two_end_the_samples() -> None:
    store, time = store_of("a")
    store.begin("a")
    store.put("a", stored())
    time.now += 20
    store.begin("a")
    assert store.fail("a", "timed out") == ""
    read = values(store.page("a"))
    assert (read["railweave_up"], read["railweave_reading_age_seconds"]) == (0, 20)
    assert read["sonic_link_flaps_total Ethernet0"] == 4
    time.now += 18
    read = values(store.page("a"))
    assert read["railweave_reading_age_seconds"] == 38
    assert "sonic_link_flaps_total Ethernet0" not in read
    assert "railweave_drift_rows" not in read


def test_a_reading_that_lacks_a_part_is_up_and_ages() -> None:
    store, time = store_of("a")
    store.begin("a")
    store.put("a", stored())
    time.now += 15
    store.begin("a")
    store.put("a", stored(missing=("COUNTERS_DB has no ports",)))
    read = values(store.page("a"))
    assert (read["railweave_up"], read["railweave_reading_age_seconds"]) == (1, 15)
    assert store.error("a") == "COUNTERS_DB has no ports"


def test_a_drained_switch_stays_so_while_it_is_unplugged_and_a_rolling_one_must_come_back() -> None:
    store, time = store_of("a")
    store.begin("a")
    store.put("a", stored("drained", "rolling", timer_s=1200))
    store.begin("a")
    store.fail("a", "unreachable")
    time.now += 1199
    read = values(store.page("a"))
    assert (read["railweave_maintenance drained"], read["railweave_maintenance rolling"]) == (1, 1)
    time.now += 2
    read = values(store.page("a"))
    assert (read["railweave_maintenance drained"], read["railweave_maintenance rolling"]) == (1, 0)
    store.put_rolling(frozenset({"a"}))
    assert values(store.page("a"))["railweave_maintenance rolling"] == 1


def test_the_own_page_counts_readings_and_a_file_has_all_switches() -> None:
    store, _ = store_of("a", "b")
    store.begin("a")
    store.put("a", stored())
    store.fail("b", "the target has no address of it")
    own = samples_of(store.own_page())
    assert own["railweave_exporter_info", frozenset({("version", "1.2")})] == 1
    assert own["railweave_readings_total", frozenset({("device", "a")})] == 1
    assert own["railweave_failed_readings_total", frozenset({("device", "b")})] == 1
    assert own["railweave_up", frozenset({("device", "b")})] == 0
    whole = store.all_switches()
    assert len(samples_of(whole)) == len(samples_of(store.page("a"))) + len(samples_of(store.page("b")))
    assert whole.count("# TYPE railweave_up gauge") == 1
