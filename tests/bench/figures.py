"""What a command costs: elapsed time, processor time and memory, of one checkout or of two that take turns."""

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST_COMMAND_S = 3600.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What one command took; the processor time is of the command and its own children, not of simulators."""

    elapsed_s: float
    cpu_s: float
    peak_mib: float


def run(checkout: Path, folder: Path, *words: str, statuses: Sequence[int] = (0,)) -> Figures:
    """Run the installed command of a checkout in ``folder``; raises RuntimeError with its words where it fails.

    It fails with another status than ``statuses``.
    """
    program = checkout / ".venv/bin/railweave"
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with (folder / "output.txt").open("wb") as output:
        began = time.perf_counter()
        process = subprocess.Popen([program, *words], cwd=folder, env=environment, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        elapsed_s = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in statuses:
        told = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"{program} {' '.join(words)} ended with {process.returncode}:\n{told[-2000:]}")
    return Figures(elapsed_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@dataclass(frozen=True, slots=True)
class Bar:
    """What a measurement is to stay under; ``of`` is one of its figures."""

    of: str
    most: float

    def __str__(self) -> str:
        """Return the bar with its unit."""
        return {"elapsed_s": "{:g} s", "cpu_s": "{:g} s CPU", "peak_mib": "{:g} MiB", "ms": "{:g} ms"}[self.of].format(
            self.most
        )


@dataclass(frozen=True, slots=True)
class Measurement:
    """The medians of one command in this checkout and, if there is one, in the other, and the median of the ratios.

    ``switches`` divide the processor time where the figure is one of each switch, in ``ms``.
    """

    name: str
    runs: Mapping[str, Sequence[Figures]]
    bar: Bar | None = None
    switches: int = 0

    def median(self, checkout: str) -> dict[str, float]:
        """Return the medians of the figures in a checkout."""
        runs = self.runs[checkout]
        found = {name: statistics.median(getattr(one, name) for one in runs) for name in Figures.__slots__}
        return found | ({"ms": 1000 * found["cpu_s"] / self.switches} if self.switches else {})

    @property
    def ratio(self) -> float | None:
        """Return how this checkout's processor time stands to the other's: the median of the ratios of turns."""
        if len(self.runs) < 2:
            return None
        mine, other = self.runs.values()
        return statistics.median(one.cpu_s / two.cpu_s for one, two in zip(mine, other, strict=True))

    def json(self) -> dict[str, Any]:
        """Return everything as a document."""
        return {
            "name": self.name,
            "runs": len(next(iter(self.runs.values()))),
            "medians": {name: {what: round(one, 4) for what, one in self.median(name).items()} for name in self.runs},
            "bar": {self.bar.of: self.bar.most} if self.bar else None,
            "cpu_ratio": None if self.ratio is None else round(self.ratio, 4),
        }


Runner = Callable[[Path, int], Figures]
"""Runs once in a checkout; told the number of the turn."""


def turns(name: str, checkouts: Mapping[str, Path], rounds: int, runner: Runner, bar: Bar | None = None) -> Measurement:
    """Return a command measured ``rounds`` times in every checkout, in turns, so that all meet the same load."""
    found: dict[str, list[Figures]] = {label: [] for label in checkouts}
    for turn in range(rounds):
        for label, checkout in checkouts.items():
            found[label].append(runner(checkout, turn))
    return Measurement(name, found, bar)


def table(found: Sequence[Measurement]) -> Iterator[str]:
    """Yield the lines of a table for people: a measurement a line, the bar beside it."""
    compared = any(one.ratio is not None for one in found)
    yield f"{'measured':<44}{'elapsed':>10}{'CPU':>10}{'a switch':>10}{'peak':>10}  {'bar':<11}" + (
        f"{'CPU there':>11}{'ratio':>8}" if compared else ""
    )
    for one in found:
        mine, *others = (one.median(label) for label in one.runs)
        each = f"{mine['ms']:.1f} ms" if "ms" in mine else ""
        there = f"{others[0]['cpu_s']:>9.2f} s{one.ratio:>8.2f}" if others else ""
        yield (
            f"{one.name:<44}{mine['elapsed_s']:>8.2f} s{mine['cpu_s']:>8.2f} s{each:>10}{mine['peak_mib']:>6.0f} MiB"
            f"  {_told(one, mine):<11}{there}"
        ).rstrip()


def _told(one: Measurement, mine: Mapping[str, float]) -> str:
    if one.bar is None:
        return ""
    return f"{one.bar}{'' if mine[one.bar.of] <= one.bar.most else ' !'}"
