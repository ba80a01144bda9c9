"""`railweave exporter` on simulated switches: values are those of `health`, and a real Prometheus alerts by them."""

import csv
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from alert_rig import AlertRig, free_port, telemetry_of
from debian_packages import unpacked
from exporter_rig import SWITCHES, are_read, exporting
from real_prometheus import PACKAGES

from nornir_railweave.tasks.counters import read_counters
from railweave import api
from railweave.api.targets.fabric import live_fabric

pytestmark = pytest.mark.e2e

CANNOT = os.geteuid() != 0 or shutil.which("apt-get") is None or shutil.which("unshare") is None
COUNTERS = {
    "sonic_interface_receive_bytes_total": "SAI_PORT_STAT_IF_IN_OCTETS",
    "sonic_interface_transmit_bytes_total": "SAI_PORT_STAT_IF_OUT_OCTETS",
    "sonic_interface_receive_errors_total": "SAI_PORT_STAT_IF_IN_ERRORS",
}


def counters_of_health(project: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the reading that `railweave health` judges."""
    monkeypatch.chdir(project.folder)
    live = live_fabric(api.open_project(project.intent), "sim")
    with live.connected():
        return {name: reading.counters for name, reading in read_counters(live.nornir, SWITCHES).items()}


def test_values_are_those_of_health_and_come_at_once(deployed_lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project = deployed_lab
    project.run("sim", "fault", "lab-leaf1", "errors", "--port", "Ethernet112")
    before = counters_of_health(project, monkeypatch)
    with exporting(project, free_port(), "--interval", "1") as scraped:
        project.wait_until(lambda: are_read(scraped), 60, "switches were not read")
        pages = {name: scraped.page(name) for name in SWITCHES}
        assert scraped.value("railweave_drift_rows", "lab-leaf1") == 0
    after = counters_of_health(project, monkeypatch)
    compared = 0
    for device, page in pages.items():
        for (name, labels), value in page.items():
            if name in COUNTERS:
                port, field = dict(labels)["port"], COUNTERS[name]
                # They go on counting.
                assert before[device]["ports"][port][field] <= value <= after[device]["ports"][port][field]
                compared += 1
        assert page["railweave_up", frozenset({("device", device)})] == 1
    assert compared == len(COUNTERS) * 16
    errors = ("sonic_interface_receive_errors_total", frozenset({("device", "lab-leaf1"), ("port", "Ethernet112")}))
    assert pages["lab-leaf1"][errors] > 0


@pytest.mark.nightly
def test_a_switch_that_hangs_is_down_and_the_others_are_read(deployed_lab: Any) -> None:
    project = deployed_lab
    with exporting(project, free_port(), "--interval", "2") as scraped:
        project.wait_until(lambda: are_read(scraped), 60, "switches were not read")
        project.run("sim", "fault", "lab-spine1", "slow", "--seconds", "60")
        project.wait_until(lambda: scraped.value("railweave_up", "lab-spine1") == 0, 60, "the switch is up")
        for name in ("lab-leaf1", "lab-leaf2", "lab-spine2"):
            age = scraped.value("railweave_reading_age_seconds", name)
            assert age is not None
            assert age < 10
        states = [key for key in scraped.page("lab-spine1") if key[0].startswith("sonic_")]
        assert states == []
        project.run("sim", "fault", "lab-spine1", "clear")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("prometheus"), PACKAGES) / "usr" / "bin"


@pytest.mark.nightly
def test_promtool_accepts_every_page(deployed_lab: Any, programs: Path) -> None:
    project = deployed_lab
    with exporting(project, free_port(), "--interval", "2") as scraped:
        project.wait_until(lambda: are_read(scraped), 60, "switches were not read")
        for query in ("", "?device=lab-leaf1"):
            with urlopen(f"http://127.0.0.1:{scraped.port}/metrics{query}", timeout=10) as answer:
                text = answer.read()
            words = [str(programs / "promtool"), "check", "metrics"]
            checked = subprocess.run(words, input=text, capture_output=True, check=False)
            assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


@contextmanager
def alerting(project: Any, programs: Path) -> Iterator[AlertRig]:
    """Watch the simulated fabric by a real Prometheus and Alertmanager."""
    ports = {part: free_port() for part in ("exporter", "textfile", "alertmanager", "webhook", "prometheus")}
    text = project.intent.read_text(encoding="utf-8")
    project.intent.write_text(text + telemetry_of(ports), encoding="utf-8")
    folder = project.folder / "monitoring"
    project.run("telemetry", "render", "--out", str(folder))
    with (
        exporting(project, ports["exporter"], "--interval", "4") as scraped,
        AlertRig(programs, folder, ports).running() as rig,
    ):
        project.wait_until(lambda: are_read(scraped), 60, "switches were not read")
        rig.wait_until(lambda: len(rig.query("railweave_up == 1")) == len(SWITCHES), 60, "Prometheus scrapes nothing")
        rig.quiet_for(8, set())
        yield rig


@pytest.mark.nightly
@pytest.mark.skipif(CANNOT, reason="Debian's Alertmanager reads its template from a mount of its own")
@pytest.mark.parametrize(
    ("plant", "expected"),
    [
        # Neither its links nor its sessions, nor that it cannot be read: one alert.
        (lambda run: (run("fault", "lab-spine1", "link-down"), run("fault", "lab-spine1", "unreachable")),
         {("AL-21", "lab-spine1", "")}),
        # The ends of the cable, and the two ports that it leaves dark; their sessions are quiet.
        (lambda run: run("cable", "lab-leaf1:Ethernet112", "lab-spine2:Ethernet0"),
         {("AL-12", "lab-leaf1", "Ethernet112"), ("AL-12", "lab-spine2", "Ethernet0"),
          ("AL-10", "lab-leaf1", "Ethernet116"), ("AL-10", "lab-spine1", "Ethernet0")}),
        # What FEC cannot correct is lost, and nobody else says so.
        (lambda run: run("fault", "lab-leaf1", "ber", "--port", "Ethernet112", "--ber", "1e-3"),
         {("AL-15", "lab-leaf1", "Ethernet112")}),
        (lambda run: run("fault", "lab-leaf2", "errors", "--port", "Ethernet112"),
         {("AL-14", "lab-leaf2", "Ethernet112")}),
        # It lasts: the pauses and drops of its queue are no alerts beside it.
        (lambda run: run("fault", "gpu1", "pfc-storm", "--nic", "0"),
         {("AL-3", "lab-leaf1", "Ethernet0")}),
        (lambda run: run("fault", "lab-leaf2", "queue-drops", "--port", "Ethernet116"),
         {("AL-1", "lab-leaf2", "Ethernet116")}),
        # The laser fades at the spine, and the leaf corrects what arrives: nothing is lost yet.
        (lambda run: run("fault", "lab-spine1", "dying-laser", "--port", "Ethernet0", "--ber", "2e-5"),
         {("AL-16", "lab-leaf1", "Ethernet112")}),
    ],
    ids=["dead-spine", "wrong-cable", "lost-codewords", "damaged-frames", "storm", "silent-drops", "fading-laser"],
)  # fmt: skip
def test_a_fault_is_exactly_its_alerts(
    plant: Callable[[Callable[..., object]], object],
    expected: set[tuple[str, str, str]],
    deployed_lab: Any,
    programs: Path,
) -> None:
    with alerting(deployed_lab, programs) as rig:
        plant(lambda *words: deployed_lab.run("sim", *words))
        rig.wait_until(lambda: rig.fired >= expected, 60, "alerts are missing")
        # The longest condition of an alert lasts 20 scrapes.
        rig.quiet_for(25, expected)
        ends = cable_ends(deployed_lab)
        for rule, device, port in expected:
            if port:
                labels = rig.labels[rule, device, port]
                assert (labels["cable"], labels["peer"]) == ends[device, port]


def cable_ends(project: Any) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the cable and the far end of every port, by the table of cables: each is named by its end towards GPUs."""
    project.fabric()
    ends = {}
    with (project.folder / "rendered" / "cables.csv").open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            cable = f"{row['a_device']} {row['a_port']}"
            ends[row["a_device"], row["a_port"]] = cable, row["b_device"]
            ends[row["b_device"], row["b_port"]] = cable, row["a_device"]
    return ends


@pytest.mark.nightly
@pytest.mark.skipif(CANNOT, reason="Debian's Alertmanager reads its template from a mount of its own")
def test_a_rollout_pages_nobody(deployed_lab: Any, programs: Path) -> None:
    project = deployed_lab
    with alerting(project, programs) as rig:
        project.intent.write_text(
            project.intent.read_text(encoding="utf-8") + "bgp: {keepalive: 2, hold: 6}\n",
            encoding="utf-8",
        )
        assert project.deploy()["result"] == "done"
        rig.quiet_for(10, set())
