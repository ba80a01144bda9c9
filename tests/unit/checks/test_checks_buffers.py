"""Headroom, budget and ECN before PFC on whole fabrics."""

from collections.abc import Callable, Iterable

import pytest

from railweave.catalog.load import load_catalog
from railweave.catalog.panel import boot_speed_gbps
from railweave.diagnostics import Diagnostic, Severity, has_errors

Findings = Callable[..., tuple[Diagnostic, ...]]

NO_BUFFERS = {
    "accton-as7726-32x",
    "accton-as9716-32d",
    "accton-as9726-32d",
    "accton-as9817-64d",
    "arista-7060dx4-32",
    "arista-7060dx5-32",
    "arista-7060dx5-64s",
    "arista-7060px4-32",
    "arista-7060px5-64s",
    "arista-7060x6-32pe",
    "arista-7060x6-64de",
    "celestica-ds4000",
    "celestica-ds5000",
    "celestica-silverstone",
    "dell-z9264f",
    "dell-z9432f",
    "micas-m2-w6510-32c",
    "micas-m2-w6920-32qc2x",
    "micas-m2-w6930-64qc",
    "micas-m2-w6950-128oc",
    "nexthop-nh-4220",
    "nokia-ixr7220-h3",
    "nvidia-sn5610n",
    "nvidia-sn5640",
    "quanta-ix9-32x",
    "supermicro-sse-t8164",
    "ufispace-s9300-32d",
    "ufispace-s9301-32d",
    "ufispace-s9321-64e",
    "ufispace-s9321-64eo",
}
"""Models whose SONiC ships no buffers at the speed that they boot with, at most 400G."""

ROCE = "traffic_classes:\n  - {{name: roce, dscp: [26], lossless: true, priority: 3, share: {share}{ecn}}}\n{more}"
REST = """  - {name: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, dscp: default, priority: 0, share: 10}
"""


def classes(ecn: str = "", more: str = "", share: int = 60) -> str:
    return ROCE.format(share=share, ecn=f", ecn: {{{ecn}}}" if ecn else "", more=more) + REST


def of(code: str, found: Iterable[Diagnostic]) -> list[Diagnostic]:
    return [one for one in found if one.code == code]


def test_a_sound_pod_has_no_error_and_no_warning(findings: Findings) -> None:
    assert not [one for one in findings() if one.severity is not Severity.INFO]


def test_a_cable_without_published_headroom_is_refused_with_the_lengths_that_are(findings: Findings) -> None:
    (one,) = of("H-headroom", findings("cabling: {leaf_spine: {length_m: 400}}\n"))
    assert one.severity is Severity.ERROR
    assert "400G over 400 m" in one.message
    assert "5 m, 40 m, 300 m" in one.fix
    assert one.devices == ("pod-leaf1", "pod-leaf2")
    assert one.where.path == "cabling.leaf_spine.length_m"


def test_the_same_cable_is_computed_where_the_vendor_publishes_how(findings: Findings) -> None:
    found = findings("cabling: {leaf_spine: {length_m: 400}}\n", leaf="nvidia-sn4700")
    assert not of("H-headroom", found)


def test_a_speed_without_published_headroom_is_refused(findings: Findings) -> None:
    (one,) = of("H-headroom", findings(speed="200G", spine="nokia-ixr7220-h4-64d"))
    assert one.severity is Severity.ERROR
    assert "200G" in one.message
    assert "400G" in one.fix


@pytest.mark.parametrize("asked", ["", "traditional", "dynamic"])
def test_a_model_without_buffer_facts_is_refused_with_what_is_missing_and_the_ways_out(
    findings: Findings, asked: str
) -> None:
    extra = f"sonic: {{buffer_model: {asked}}}\n" if asked else ""
    (one,) = of("H-headroom", findings(extra, leaf="arista-7060dx5-64s", spine="nvidia-sn4700"))
    assert one.severity is Severity.ERROR
    assert one.message == (
        "roce cannot be lossless on arista-7060dx5-64s: no headroom can be computed for Arista-7060DX5-64S, whose SONiC"
        " ships no pools, no profiles for lossless queues and no headroom for any speed and cable"
        " (device/arista/x86_64-arista_7060dx5_64s/Arista-7060DX5-64S)"
    )
    assert one.fix.startswith("use a model that ships buffers (`railweave models` lists them); or write the vendor's")
    assert one.fix.endswith("under overrides.leaf; or make no class lossless")
    assert one.devices == ("pod-leaf1", "pod-leaf2")
    assert one.where.path == ("sonic.buffer_model" if asked else "topology.leaf.model")


def test_only_a_hwsku_without_buffers_names_sets_that_cannot_be_taken() -> None:
    models = (load_catalog().switch(name) for name in load_catalog().switch_ids())
    named = [one for model in models for one in model.hwskus if one.lossless_sets]
    assert len(named) == 6
    assert not [one.name for one in named if one.buffers is not None]


def test_profiles_that_a_hwsku_ships_for_one_role_are_named(findings: Findings) -> None:
    found = of("H-headroom", findings(speed="100G", leaf="dell-z9264f", spine="dell-z9264f"))
    assert found
    for one in found:
        assert "(some are in buffers_defaults_t1.j2)" in one.message
        assert "BUFFER_PG rows, such as those of buffers_defaults_t1.j2, under overrides." in one.fix


def test_hardware_that_ships_buffers_at_another_speed_is_told_at_which(
    findings_of: Findings, text_of: Callable[..., str]
) -> None:
    text = text_of(leaf="arista-7060x6-64pe", spine="arista-7060x6-64pe")
    found = of("H-headroom", findings_of(text.replace("uplink_speed: 400G", "uplink_speed: 800G")))
    assert {one.severity for one in found} == {Severity.ERROR}
    assert all("run its ports at 400G, for which Arista-7060X6-64PE-O128S2 ships buffers" in one.fix for one in found)


OPERATORS = """
overrides:
  leaf:
    BUFFER_POOL: {{ingress_lossless_pool: {{mode: dynamic, size: '100000000', type: ingress, xoff: '20000000'}}}}
    BUFFER_PROFILE: {{by_vendor: {{dynamic_th: '0', pool: ingress_lossless_pool, size: '0', xoff: '400000', xon: '0'}}}}
    BUFFER_PG: {{{groups}}}
"""


def test_buffers_that_the_operator_states_are_taken_with_a_warning_and_checked_on_every_link(
    findings: Findings,
) -> None:
    ports = (*range(0, 32, 8), 32, 40)
    rows = ", ".join(f"'Ethernet{port}|3': {{profile: by_vendor}}" for port in ports)
    kinds = {"leaf": "arista-7060dx5-64s", "spine": "nvidia-sn4700"}
    found = findings(OPERATORS.format(groups=rows), **kinds)
    assert [(one.code, one.severity) for one in found if one.severity is not Severity.INFO] == [
        ("H-headroom", Severity.WARNING)
    ]
    short = ", ".join(f"'Ethernet{port}|3': {{profile: by_vendor}}" for port in ports[1:])
    refused = [one for one in findings(OPERATORS.format(groups=short), **kinds) if one.severity is Severity.ERROR]
    assert {one.code for one in refused} == {"H-headroom"}
    assert all("Ethernet0 keeps headroom for no priority, while 3 is lossless" in one.message for one in refused)


POOL = "{mode: dynamic, size: '100000000', type: ingress, xoff: '20000000'}"
PROFILE = "{dynamic_th: '0', pool: ingress_lossless_pool, size: '0', xoff: '400000', xon: '0'}"


@pytest.mark.parametrize(
    ("pool", "profile", "what"),
    [
        (POOL, PROFILE.replace("ingress_lossless_pool", "no_pool"), "is of pool no_pool, which is not there"),
        (POOL, PROFILE.replace("dynamic_th", "static_th: '1', dynamic_th"), "states dynamic_th and static_th"),
        (POOL, PROFILE.replace("dynamic_th: '0', ", ""), "states no threshold"),
        (POOL.replace("20000000", "100000000"), PROFILE, "has a headroom pool of 100000000 bytes in 100000000"),
        (POOL.replace("size: '100000000'", "size: '200000000'"), PROFILE, "has 200000000 bytes, the chip 113000000"),
        (POOL.replace(", xoff: '20000000'", ""), PROFILE, "reserves 0 bytes for 400000 of headroom"),
        (POOL.replace("20000000", "500000"), PROFILE, "has 500000 bytes of headroom for groups that may need 2400000"),
        (POOL.replace("ingress", "egress"), PROFILE, "keeps headroom in ingress_lossless_pool, an egress pool"),
    ],
)
def test_buffers_of_the_operator_that_contradict_each_other_are_refused(
    findings: Findings, pool: str, profile: str, what: str
) -> None:
    groups = ", ".join(f"'Ethernet{port}|3': {{profile: mine}}" for port in (*range(0, 32, 8), 32, 40))
    tables = f"BUFFER_POOL: {{ingress_lossless_pool: {pool}}}, BUFFER_PROFILE: {{mine: {profile}}}"
    found = findings(f"overrides: {{leaf: {{{tables}, BUFFER_PG: {{{groups}}}}}}}\n", leaf="arista-7060dx5-64s")
    told = of("H-pools", found)
    assert {one.severity for one in told} == {Severity.ERROR}
    assert {one.devices for one in told} == {("pod-leaf1",), ("pod-leaf2",)}
    assert all(what in one.message for one in told)


def test_a_profile_that_nobody_wrote_is_refused_once(findings: Findings) -> None:
    groups = ", ".join(f"'Ethernet{port}|3': {{profile: mine}}" for port in (0, 8))
    told = of("H-pools", findings(f"overrides: {{leaf: {{BUFFER_PG: {{{groups}}}}}}}\n", leaf="arista-7060dx5-64s"))
    text = "BUFFER_PG|Ethernet0|3 and 1 more of pod-leaf1 uses profile mine, which is not there"
    assert [one.message for one in told if "pod-leaf1" in one.devices] == [text]


@pytest.mark.slow
def test_every_model_of_the_catalog_is_computed_but_those_that_ship_no_buffers(findings: Findings) -> None:
    catalog = load_catalog()
    refused = set()
    for model in catalog.switch_ids():
        speed = min(400, boot_speed_gbps(catalog.switch(model)))
        if catalog.switch(model).cage_type.lane_gbps == 200:  # 400G and 200G take such lanes, which the NICs have not
            speed = 100
        nic = "connectx-7" if speed == 400 else "connectx-6"
        found = of("H-headroom", findings(leaf=model, spine=model, speed=f"{speed}G", nic=nic))
        if any(one.severity is Severity.ERROR for one in found):
            refused.add(model)
    assert refused == NO_BUFFERS | {"celestica-silverstone-2"}  # which has headroom up to 100G


def test_the_dynamic_model_is_refused_on_a_chip_that_has_none(findings: Findings) -> None:
    found = of("H-headroom", findings("sonic: {buffer_model: dynamic}\n"))
    assert [one.severity for one in found] == [Severity.ERROR]
    assert "Nokia-IXR7220-H4-64D" in found[0].message


def test_more_lossless_classes_than_the_chip_carries_are_refused(findings: Findings) -> None:
    more = "".join(
        f"  - {{name: s{number}, role: storage, dscp: [{number}], lossless: true, priority: {number}, share: 5}}\n"
        for number in (4, 5)
    )
    found = of("H-budget", findings(classes(more=more)))
    refused = [one for one in found if "for 2" in one.message]
    assert [one.severity for one in refused] == [Severity.ERROR]
    assert "roce and s4 and s5" in refused[0].message


def test_a_second_lossless_class_for_storage_fits(findings: Findings) -> None:
    assert not has_errors(findings(classes(more=STORAGE)))


def test_a_lossless_class_without_room_for_its_headroom_is_refused_with_the_sum(findings: Findings) -> None:
    lengths = "cabling: {host: {length_m: 2000}, leaf_spine: {length_m: 2000}}\n"
    found = findings(lengths + classes(more=STORAGE), leaf="nvidia-sn4700", nodes=28)
    (one,) = [each for each in of("H-budget", found) if "pod-leaf1" in each.devices]
    assert one.severity is Severity.ERROR
    assert "28 ports of 400G over 2000 m" in one.message


@pytest.mark.parametrize(
    ("model", "nodes", "host_m", "more", "severity", "sum_text"),
    [
        ("nvidia-sn4700", 14, 300, True, Severity.ERROR, "65187840 of 60817392 bytes of the chip"),
        ("nvidia-sn5600", 120, 30, False, Severity.ERROR, "172454606 of 158229504 bytes of the chip"),
        (
            "nvidia-sn4700",
            28,
            5,
            True,
            Severity.WARNING,
            "58220544 of 60817392 bytes of the chip, which also sets aside",
        ),
    ],
)
def test_pools_and_headroom_of_the_traditional_model_must_fit_the_chip(
    findings: Findings, model: str, nodes: int, host_m: int, more: bool, severity: Severity, sum_text: str
) -> None:
    cables = f"cabling: {{host: {{length_m: {host_m}}}, leaf_spine: {{length_m: 40}}}}\n"
    extra = f"sonic: {{buffer_model: traditional}}\n{cables}" + classes(more=STORAGE if more else "")
    found = findings(extra, leaf=model, spine=model, nodes=nodes)
    (told,) = [one for one in of("H-budget", found) if "pod-leaf1" in one.devices]
    assert told.severity is severity
    assert sum_text in told.message
    dynamic = findings(extra.replace("traditional", "dynamic"), leaf=model, spine=model, nodes=nodes)
    assert not of("H-budget", dynamic)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("BUFFER_PROFILE: {egress_lossless_profile: {static_th: '100000'}}", "E-1"),
        ("BUFFER_POOL: {egress_lossless_pool: {xoff: '1000'}}", "H-pools"),
        ("BUFFER_PROFILE: {mine: {pool: no_such_pool, size: '0', dynamic_th: '0'}}", "H-pools"),
    ],
)
def test_the_fix_of_what_an_override_breaks_names_the_override(findings: Findings, row: str, code: str) -> None:
    found = of(code, findings(f"overrides: {{leaf: {{{row}}}}}\n"))
    table, key = row.replace(" {", "").split(":")[:2]
    assert found
    assert all(one.fix.startswith(f"take {table}|{key} out of the overrides, or ") for one in found)


STORAGE = "  - {name: storage, dscp: [34], lossless: true, priority: 4, share: 30}\n"


@pytest.mark.parametrize(
    ("model", "nodes", "more", "severity"),
    [
        ("nokia-ixr7220-h5-64d", 60, "", None),
        ("nokia-ixr7220-h5-64d", 60, STORAGE, Severity.INFO),
        ("arista-7060x6-64pe", 100, "", Severity.WARNING),
        ("arista-7060x6-64pe", 100, STORAGE, Severity.ERROR),
    ],
)
def test_headroom_that_ports_share_is_told_where_all_at_once_would_exceed_it(
    findings: Findings, model: str, nodes: int, more: str, severity: Severity | None
) -> None:
    found = of("H-budget", findings(classes(more=more), leaf=model, spine=model, nodes=nodes))
    told = [one for one in found if "pod-leaf1" in one.devices]
    assert [one.severity for one in told] == ([severity] if severity else [])
    assert all("headroom pool" in one.message for one in told)
    if severity is Severity.WARNING:
        assert "in 2 slices: one slice's part does not last where a quarter of the groups is paused" in told[0].message


@pytest.mark.parametrize(
    ("ecn", "code", "severity", "number"),
    [
        ("min_kb: 17000, max_kb: 18000", "E-2", Severity.ERROR, "16184753"),
        ("min_kb: 900, max_kb: 17000", "E-3", Severity.WARNING, "16184753"),
        ("min_kb: 1000, max_kb: 4000", "E-4", Severity.WARNING, "980894"),
        ("min_kb: 900, max_kb: 4000", "E-5", Severity.INFO, "252887"),
        ("min_kb: 60000, max_kb: 90000", "E-1", Severity.ERROR, "25143064"),
    ],
)
def test_thresholds_that_let_pfc_come_first_are_told_with_the_numbers(
    findings: Findings, ecn: str, code: str, severity: Severity, number: str
) -> None:
    found = [one for one in of(code, findings(classes(ecn))) if "pod-leaf1" in one.devices]
    assert [one.severity for one in found] == [severity]
    assert number in found[0].message
    assert found[0].where.path == "traffic_classes[0].ecn"


def test_thresholds_that_fit_are_not_told(findings: Findings) -> None:
    found = [one for one in findings(classes("min_kb: 250, max_kb: 900")) if one.code.startswith("E-")]
    assert not found


def test_marking_below_what_one_flow_has_on_its_way_is_told(findings: Findings) -> None:
    found = of("RW403", findings("preset: nvidia\n"))
    assert [one.severity for one in found] == [Severity.INFO] * 2
    assert all("153600" in one.message and "400000" in one.message for one in found)


def test_without_a_lossless_class_there_is_nothing_to_check(findings: Findings) -> None:
    lossy = classes().replace("lossless: true", "lossless: false")
    assert not [one for one in findings(lossy) if one.code.startswith(("E-", "H-"))]


def test_a_preset_that_hardware_like_the_virtual_switch_would_refuse_can_be_rehearsed_on_it(findings: Findings) -> None:
    lab = {"leaf": "sonic-vs", "spine": "sonic-vs", "speed": "100G", "nic": "connectx-6"}
    found = of("E-2", findings("preset: microsoft\n", **lab))
    assert [one.severity for one in found] == [Severity.WARNING] * 2
    stated = of("E-2", findings(classes("min_kb: 2000, max_kb: 3000"), **lab))
    assert [one.severity for one in stated] == [Severity.ERROR]
