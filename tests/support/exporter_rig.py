"""A running `railweave exporter`, and what a scrape of it gets."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import urlopen

from telemetry_samples import Samples, samples_of

SWITCHES = ("lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2")
"""The switches of lab-4."""


class Scraped:
    """A running exporter and its address."""

    def __init__(self, port: int) -> None:
        self.port = port

    def page(self, device: str = "") -> Samples:
        """Return the samples of a page, which must come within a second."""
        begun = time.monotonic()
        text = self.text(device)
        assert time.monotonic() - begun < 1
        return samples_of(text)

    def text(self, device: str = "") -> str:
        query = f"?device={device}" if device else ""
        with urlopen(f"http://127.0.0.1:{self.port}/metrics{query}", timeout=10) as answer:
            return str(answer.read().decode())

    def value(self, name: str, device: str) -> float | None:
        return self.page(device).get((name, frozenset({("device", device)})))


@contextmanager
def exporting(project: Any, port: int, *words: str) -> Iterator[Scraped]:
    """Run the exporter until the block ends, which SIGTERM ends with status 0."""
    process: subprocess.Popen[str] = project.start(
        "exporter", "--target", "sim", "--listen", f"127.0.0.1:{port}", *words
    )
    assert process.stdout is not None
    try:
        # The notes of the intent come before.
        while "serving" not in (line := process.stdout.readline()):
            assert line, "the exporter ended"
        yield Scraped(port)
    finally:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 0, said
    assert "Traceback" not in said, said


def are_read(scraped: Scraped) -> bool:
    ages = [key for key in scraped.page() if key[0] == "railweave_reading_age_seconds"]
    return len(ages) == len(SWITCHES)
