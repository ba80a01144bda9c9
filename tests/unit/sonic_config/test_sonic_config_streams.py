"""Streamed counters, the history of the PFC watchdog and the gNMI server: rows by release and ASIC.

The rows are written here from SONiC's models; that ``poll_interval`` counts microseconds is from orchagent (sonic-swss
orchagent/high_frequency_telemetry/hftelprofile.cpp).
"""

import pytest
import yaml
from reference_intents import ROOT
from telemetry_samples import fabric_of

from railweave.checks.config import check_design
from railweave.diagnostics import Where
from railweave.fabric.model import Fabric
from railweave.sonic.delta.change import Disruption
from railweave.sonic.delta.diff import diff
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.configure import configure
from railweave.sonic.rows import ConfigDb
from railweave.telemetry.gnmic import gnmic_text
from railweave.templates import find_templates

# Leaves of Broadcom, spines of NVIDIA.
LOSSY = (ROOT / "tests" / "golden" / "sonic_config" / "intents" / "lossy-planes.yml").read_text(encoding="utf-8")
LOSSLESS = LOSSY.replace("transport: roce-lossy", "transport: roce-lossless, lossless: true")
PROFILES = "HIGH_FREQUENCY_TELEMETRY_PROFILE"
GROUPS = "HIGH_FREQUENCY_TELEMETRY_GROUP"


def mixed(telemetry: str, release: str = "202511", text: str = LOSSY) -> Fabric:
    return fabric_of(f"{text}sonic: {{release: '{release}'}}\ntelemetry: {{{telemetry}}}\n")


def tables(fabric: Fabric, name: str = "mix-spine1") -> ConfigDb:
    return configure(fabric, fabric.switch_of[name], find_templates()).config_db()


def notes(fabric: Fabric, code: str = "RW143") -> list[str]:
    diagnostics = check_design(fabric, lambda path: Where(path=path))
    return [diagnostic.message for diagnostic in diagnostics if diagnostic.code == code]


def test_an_nvidia_switch_streams_its_ports_and_marking_queues() -> None:
    rows = tables(mixed("high_frequency_us: 10000"))
    assert rows[PROFILES] == {"railweave": {"stream_state": "enabled", "poll_interval": "10000"}}
    ports = tuple(rows["DEVICE_NEIGHBOR"])
    assert rows[GROUPS]["railweave|PORT"] == {
        "object_names": ports,
        "object_counters": ("IF_IN_DISCARDS", "IF_IN_OCTETS", "IF_OUT_OCTETS"),
    }
    assert rows[GROUPS]["railweave|QUEUE"] == {
        "object_names": tuple(f"{port}|3" for port in ports),
        "object_counters": ("CURR_OCCUPANCY_CELLS", "WRED_ECN_MARKED_PACKETS"),
    }


def test_lossless_priority_groups_are_streamed() -> None:
    rows = tables(mixed("high_frequency_us: 5000", text=LOSSLESS))
    group = rows[GROUPS]["railweave|INGRESS_PRIORITY_GROUP"]
    assert group == {
        "object_names": tuple(f"{port}|3" for port in rows["DEVICE_NEIGHBOR"]),
        "object_counters": ("CURR_OCCUPANCY_CELLS",),
    }
    # What orchagent cannot name is never ready: it names priority groups by their buffer rows.
    assert set(group["object_names"]) <= rows["BUFFER_PG"].keys()
    assert "railweave|INGRESS_PRIORITY_GROUP" not in tables(mixed("high_frequency_us: 5000"))[GROUPS]


# sonic-mgmt tests/high_frequency_telemetry/counter_profiles.py: the counters that every NVIDIA ASIC streams.
STREAMED = {
    "PORT": {"IF_IN_OCTETS", "IF_IN_DISCARDS", "IF_OUT_OCTETS"},
    "QUEUE": {"BYTES", "CURR_OCCUPANCY_CELLS", "WATERMARK_CELLS", "WRED_ECN_MARKED_PACKETS"},
    "INGRESS_PRIORITY_GROUP": {"CURR_OCCUPANCY_CELLS", "WATERMARK_CELLS"},
}


@pytest.mark.parametrize("text", [LOSSY, LOSSLESS], ids=["lossy", "lossless"])
def test_no_counter_is_asked_for_that_an_asic_does_not_stream(text: str) -> None:
    for key, row in tables(mixed("high_frequency_us: 5000", text=text))[GROUPS].items():
        assert set(row["object_counters"]) <= STREAMED[key.removeprefix("railweave|")]


@pytest.mark.parametrize(("release", "streams"), [("202505", False), ("202511", True), ("202605", True)])
def test_only_orchagent_from_202511_on_streams(release: str, streams: bool) -> None:
    fabric = mixed("high_frequency_us: 10000", release)
    assert (PROFILES in tables(fabric)) == streams
    said = [note for note in notes(fabric) if "high_frequency_us" in note]
    if streams:
        assert len(said) == 1
        assert said[0].startswith("the Broadcom")
        assert PROFILES not in tables(fabric, "mix-leaf1")
    else:
        assert said == [
            "SONiC 202505 does not stream counters (telemetry.high_frequency_us), so no row of it is rendered"
        ]


def test_streaming_disturbs_nothing_and_ends_with_the_intent() -> None:
    without, streaming = (
        configure(fabric, fabric.switch_of["mix-spine1"], find_templates())
        for fabric in (mixed(""), mixed("high_frequency_us: 10000"))
    )
    begun = diff("mix-spine1", RunningConfig(without.config_db(), without.frr), streaming).delta
    assert {edit.table for edit in begun} == {PROFILES, GROUPS}
    assert {edit.disruption for edit in begun} == {Disruption.NONE}
    tables = dict(streaming.config_db())
    # Somebody else's profile stays.
    tables[PROFILES] = {**tables[PROFILES], "mine": {"stream_state": "disabled", "poll_interval": "7"}}
    ended = diff("mix-spine1", RunningConfig(tables, streaming.frr), without).delta
    assert {(edit.table, edit.key) for edit in ended} == {
        (PROFILES, "railweave"),
        (GROUPS, "railweave|PORT"),
        (GROUPS, "railweave|QUEUE"),
    }
    assert {edit.disruption for edit in ended} == {Disruption.NONE}


def test_only_broadcom_estimates_pauses() -> None:
    fabric = mixed("pfc_history: true", text=LOSSLESS)
    leaf, spine = (tables(fabric, name)["PFC_WD"] for name in ("mix-leaf1", "mix-spine1"))
    assert all(row.get("pfc_stat_history") == "enable" for port, row in leaf.items() if port != "GLOBAL")
    assert not any("pfc_stat_history" in row for row in spine.values())
    assert not any(
        "pfc_stat_history" in row for row in tables(mixed("", text=LOSSLESS), "mix-leaf1")["PFC_WD"].values()
    )
    assert any(note.startswith("the NVIDIA") for note in notes(fabric))
    older = mixed("pfc_history: true", "202505", LOSSLESS)
    assert not any("pfc_stat_history" in row for row in tables(older, "mix-leaf1")["PFC_WD"].values())


FILES = "certificate: /etc/sonic/telemetry/server.cer, key: /etc/sonic/telemetry/server.key"


def test_gnmi_is_rendered_only_where_it_is_asked_for() -> None:
    assert "GNMI" not in tables(mixed(""))
    rows = tables(mixed(f"gnmi: {{port: 50051, client_auth: false, user_auth: cert, {FILES}}}"))
    assert rows["GNMI"] == {
        "certs": {
            "server_crt": "/etc/sonic/telemetry/server.cer",
            "server_key": "/etc/sonic/telemetry/server.key",
        },
        "gnmi": {"port": "50051", "client_auth": "false", "user_auth": "cert"},
    }
    assert tables(mixed(f"gnmi: {{{FILES}}}"))["GNMI"]["gnmi"] == {"port": "8080"}


def test_gnmi_of_202305_has_no_users_and_check_says_so() -> None:
    fabric = mixed(f"gnmi: {{user_auth: password, {FILES}}}", "202305")
    assert tables(fabric)["GNMI"]["gnmi"] == {"port": "8080"}
    assert any("telemetry.gnmi.user_auth" in note for note in notes(fabric))


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        (FILES, []),
        ("port: 8080", ["telemetry.gnmi states no certificate: where the switch has none, gNMI is served without TLS"]),
        (
            "certificate: /etc/sonic/telemetry/server.cer",
            ["telemetry.gnmi states only one of `certificate` and `key`: SONiC's server makes up its own"],
        ),
    ],
)
def test_a_server_without_its_key_is_reported(stated: str, said: list[str]) -> None:
    assert notes(mixed(f"gnmi: {{{stated}}}"), "RW146") == said


def test_gnmic_agrees_with_the_server() -> None:
    stated = yaml.safe_load(gnmic_text(mixed(f"gnmi: {{port: 50051, client_auth: false, {FILES}}}")))["targets"]
    target = stated["mix-spine1:50051"]
    assert target["tls-ca"]
    assert "tls-cert" not in target
    default = yaml.safe_load(gnmic_text(mixed("")))["targets"]["mix-spine1:8080"]
    assert default["tls-cert"]
