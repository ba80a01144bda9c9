"""What `railweave exporter` costs a switch and reading, as a user runs it on simulated switches.

The processor time is of the exporter and its children between two moments, not of the simulator. Run alone:
``python tests/bench/exporting.py INTENT SECONDS``.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Readings of simulated switches on a loaded machine.
_FIRST_READINGS_S = 300.0
_END_S = 60.0
_PORT = 'port="'


@dataclass(frozen=True, slots=True)
class ExporterFigures:
    """What an exporter cost and served; its start is left out."""

    switches: int
    seconds: float
    readings: int
    failed: int
    cpu_s: float
    cpu_ms_per_reading: float
    slowest_scrape_s: float
    # Of the switch with the most: series by port in use, and those without a port.
    series_per_port: float
    series_without_port: int
    peak_mib: float


def measure(checkout: Path, folder: Path, intent: str, seconds: float) -> ExporterFigures:
    """Run the exporter on the simulated switches of ``intent``, which run and are deployed, for so many seconds."""
    with _exporter(checkout, folder, intent) as (process, port):
        switches = _wait_until_all_read(port)
        before = _cpu_s(process.pid), _counted(port, "railweave_readings_total"), time.monotonic()
        slowest_s = 0.0
        while time.monotonic() - before[2] < seconds:
            slowest_s = max(slowest_s, *(_scrape(port, name)[1] for name in switches))
            # As long as Prometheus waits between two scrapes.
            time.sleep(15.0)
        # All switches have been read equally often at about the same place in their interval.
        cpu_s = _cpu_s(process.pid) - before[0]
        readings = _counted(port, "railweave_readings_total") - before[1]
        elapsed_s = time.monotonic() - before[2]
        failed = _counted(port, "railweave_failed_readings_total")
        series = [_series(_scrape(port, name)[0]) for name in switches]
        return ExporterFigures(
            switches=len(switches),
            seconds=round(elapsed_s, 1),
            readings=int(readings),
            failed=int(failed),
            cpu_s=round(cpu_s, 3),
            cpu_ms_per_reading=round(1000 * cpu_s / readings, 2),
            slowest_scrape_s=round(slowest_s, 3),
            series_per_port=max(of_ports for of_ports, _ in series),
            series_without_port=max(others for _, others in series),
            peak_mib=round(_peak_mib(process.pid), 1),
        )


@contextmanager
def _exporter(checkout: Path, folder: Path, intent: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Yield the running exporter and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [str(checkout / ".venv/bin/railweave"), "exporter", intent, "--target", "sim", "--listen"]
    with (folder / "exporter.txt").open("w") as output:
        process = subprocess.Popen(
            [*words, f"127.0.0.1:{port}"], cwd=folder, text=True, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            yield process, port
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(_END_S)


def _wait_until_all_read(port: int) -> list[str]:
    """Return the switches once each has been read twice, so that rates are served as well."""
    deadline = time.monotonic() + _FIRST_READINGS_S
    while time.monotonic() < deadline:
        time.sleep(1.0)
        try:
            readings = _values(_scrape(port)[0], "railweave_readings_total")
        except OSError:
            continue
        if readings and min(readings.values()) >= 2:
            return list(readings)
    raise RuntimeError("switches were not read in time")


def _scrape(port: int, name: str = "") -> tuple[str, float]:
    """Return a page and the seconds that it took."""
    query = f"?device={name}" if name else ""
    begun = time.perf_counter()
    with urlopen(f"http://127.0.0.1:{port}/metrics{query}", timeout=10) as answer:
        text = answer.read().decode()
    return text, time.perf_counter() - begun


def _values(page: str, metric: str) -> dict[str, float]:
    """Return a metric of the exporter's own page by device."""
    values = {}
    for line in page.splitlines():
        if line.startswith(f"{metric}{{"):
            labels, value = line.rsplit(" ", 1)
            values[labels.split('device="')[1].split('"')[0]] = float(value)
    return values


def _counted(port: int, metric: str) -> float:
    return sum(_values(_scrape(port)[0], metric).values())


def _series(page: str) -> tuple[float, int]:
    """Return the series of a switch: the mean of its ports, and those without a port."""
    by_port: dict[str, int] = {}
    others = 0
    for line in page.splitlines():
        if line.startswith("#"):
            continue
        if _PORT not in line:
            others += 1
            continue
        port = line.split(_PORT)[1].split('"')[0]
        by_port[port] = by_port.get(port, 0) + 1
    return round(sum(by_port.values()) / max(1, len(by_port)), 1), others


def _cpu_s(pid: int) -> float:
    """Return the processor time of a process, of its ended children, and of those that run."""
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    # utime, stime, cutime and cstime are fields 14 to 17 (proc(5)); the first word here is field 3.
    total = sum(map(int, words[11:15])) / _TICKS_PER_S
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            total += _cpu_s(int(child))
    return total


def _peak_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def measure_alone(checkout: Path, folder: Path, intent: Path, seconds: float) -> ExporterFigures:
    """Start and deploy simulated switches in ``folder``, measure the exporter on them, and end them."""
    program = str(checkout / ".venv/bin/railweave")
    (folder / "inventory").mkdir(parents=True)
    (folder / "inventory/sim.yml").write_text((ROOT / "inventory/sim.yml").read_text())
    try:
        for words in (("sim", "up", str(intent)), ("deploy", str(intent), "--target", "sim", "--yes", "--provision")):
            subprocess.run([program, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return measure(checkout, folder, str(intent), seconds)
    finally:
        subprocess.run([program, "sim", "down", "--all"], cwd=folder, check=False, stdout=subprocess.DEVNULL)


def main() -> None:
    """Measure the intent and the seconds that the command line names."""
    intent = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="railweave-exporter-") as place:
        figures = measure_alone(ROOT, Path(place) / "project", intent, float(sys.argv[2]))
    print(json.dumps(asdict(figures), indent=2))


if __name__ == "__main__":
    main()
