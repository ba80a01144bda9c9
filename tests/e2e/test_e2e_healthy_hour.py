"""An hour of a healthy simulated fabric as OpenMetrics with time stamps: no alert is even pending in a real Prometheus.

`promtool tsdb create-blocks-from openmetrics` writes the samples of all scrapes into a database, which Prometheus then
answers `promtool query range` from. A planted fault in the same hour shows that the samples are the ones that alert.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml
from alert_rig import free_port
from exporter_rig import SWITCHES, Scraped, are_read, exporting
from real_prometheus import unpacked

from railweave.telemetry.rules.registry import ALERTS
from sonic_sim import control

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

SCRAPE_S = 120
SCRAPES = 31
ERRORS = "sonic_interface_receive_errors"


def read_after(scraped: Scraped, count: int) -> bool:
    """Tell whether every switch was read at least ``count`` times."""
    page = scraped.page()
    return all(page["railweave_readings_total", frozenset({("device", name)})] >= count for name in SWITCHES)


def healthy_hour(project: Any) -> Iterator[list[str]]:
    """Yield the pages of one scrape after the other, with the time of the switches passing between them."""
    (state,) = (project.folder / ".railweave" / "sim").iterdir()
    with exporting(project, free_port(), "--interval", "1") as scraped:
        project.wait_until(lambda: are_read(scraped), 60, "switches were not read")
        for _ in range(SCRAPES):
            control.pass_time(state, SCRAPE_S - 2)
            page = scraped.page()
            begun = max(page["railweave_readings_total", frozenset({("device", name)})] for name in SWITCHES)
            # The reading that is under way may have begun before.
            project.wait_until(lambda begun=begun: read_after(scraped, begun + 2), 120, "switches were not read again")
            yield [scraped.text(), *(scraped.text(name) for name in SWITCHES)]


class OpenMetrics:
    """Samples with time stamps, by family."""

    def __init__(self) -> None:
        self._types: dict[str, str] = {}
        self._samples: dict[str, dict[tuple[str, float], str]] = {}

    def add(self, text: str, at: float) -> None:
        """Add a text in Prometheus' own format, scraped ``at`` a time in Unix seconds."""
        for line in text.splitlines():
            words = line.split(" ", 3)
            if words[:2] == ["#", "TYPE"]:
                self._types[words[2]] = words[3]
            elif not line.startswith("#"):
                series, _, value = line.rpartition(" ")
                self._samples.setdefault(series.partition("{")[0], {})[series, at] = value

    @property
    def names(self) -> set[str]:
        return set(self._samples)

    def text(self) -> str:
        """Return the text; in OpenMetrics a family of counters has a name without ``_total``."""
        lines = []
        for name, samples in self._samples.items():
            lines.append(f"# TYPE {name.removesuffix('_total')} {self._types[name]}")
            lines += [f"{series} {value} {at}" for (series, at), value in sorted(samples.items())]
        return "\n".join([*lines, "# EOF", ""])


@contextmanager
def answering(programs: Path, folder: Path) -> Iterator[str]:
    """Run Prometheus on a database without scraping anything; yield its address."""
    configuration = folder / "nothing.yml"
    configuration.write_text("scrape_configs: []\n", encoding="utf-8")
    address = f"http://127.0.0.1:{free_port()}"
    words = [str(programs / "prometheus"), f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "prometheus.log").open("w", encoding="utf-8") as log:
        listen = f"--web.listen-address={address.removeprefix('http://')}"
        process = subprocess.Popen([*words, listen], stdout=log, stderr=log, cwd=folder)
        try:
            wait_until_ready(address)
            yield address
        finally:
            process.kill()
            process.wait()


def wait_until_ready(address: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urlopen(f"{address}/-/ready", timeout=5):
                return
        except (URLError, ConnectionError):
            assert time.monotonic() < deadline, "Prometheus does not answer"
            time.sleep(0.5)


def run_promtool(programs: Path, *words: str) -> str:
    done = subprocess.run([str(programs / "promtool"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def expressions(folder: Path) -> dict[str, str]:
    """Return the expressions of the rendered alerts by code; recorded ones are written out in them."""
    rules = []
    for path in sorted((folder / "prometheus" / "rules").iterdir()):
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            rules += group["rules"]
    recorded = {rule["record"]: rule["expr"] for rule in rules if "record" in rule}
    texts = {}
    for rule in rules:
        if "alert" in rule:
            text = rule["expr"]
            for name, expression in recorded.items():
                text = text.replace(name, f"({expression})")
            texts[rule["labels"]["rule"]] = text
    return texts


def test_no_alert_is_pending_in_a_healthy_hour(deployed_lab: Any, tmp_path: Path) -> None:
    project = deployed_lab
    text = project.intent.read_text(encoding="utf-8")
    project.intent.write_text(f"{text}telemetry: {{scrape_s: {SCRAPE_S}}}\n", encoding="utf-8")
    folder = project.folder / "monitoring"
    project.run("telemetry", "render", "--out", str(folder))
    thresholds = (folder / "thresholds.prom").read_text(encoding="utf-8")
    hour = OpenMetrics()
    first = float(int(time.time()) - SCRAPES * SCRAPE_S)
    damaged = f'{ERRORS}_total{{device="planted",port="Ethernet0"}}'
    for scrape, pages in enumerate(healthy_hour(project)):
        at = first + scrape * SCRAPE_S
        for page in (thresholds, *pages):
            hour.add(page, at)
        hour.add(f"{damaged} {scrape}", at)
    programs = unpacked(tmp_path)
    (tmp_path / "hour.txt").write_text(hour.text(), encoding="utf-8")
    run_promtool(
        programs, "tsdb", "create-blocks-from", "openmetrics", str(tmp_path / "hour.txt"), str(tmp_path / "data")
    )
    with answering(programs, tmp_path) as address:
        ends = (f"--start={first:.0f}", f"--end={first + (SCRAPES - 1) * SCRAPE_S:.0f}", f"--step={SCRAPE_S}s")

        def values(expression: str) -> Any:
            query = ("query", "range", *ends, "--format=json", address, expression)
            return json.loads(run_promtool(programs, *query))

        pending = {code: values(expression) for code, expression in expressions(folder).items()}
        assert pending.keys() == {rule.code for rule in ALERTS}
        assert {code: series for code, series in pending.items() if series} == {}
        # The samples are there, and a counter that grows is seen.
        (ports,) = values("count(sonic_interface_operational_status == 1)")
        assert len(ports["values"]) == SCRAPES
        assert {count for _, count in ports["values"]} == {"16"}
        (grown,) = values(f"increase({ERRORS}_total[{20 * SCRAPE_S}s]) > 0")
        assert grown["metric"]["device"] == "planted"
    needed = {metric.name for rule in ALERTS for metric in rule.needs if metric.name.startswith("sonic_")}
    assert needed - hour.names <= {"sonic_queue_ecn_marked_packets_total", "sonic_pfc_rx_pause_seconds_total"}
