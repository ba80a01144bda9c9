"""Fuzz what railweave reads: ``python fuzz.py --seconds 600 --seed 7 [--only TARGET]``; a finding is kept and replayed.

Input n of a target is made of ``SEED/TARGET/n`` and of nothing else, so a seed gives the same inputs again. An input
that raises, or takes more processor time or memory than its target may, is cut down as long as it does the same, kept
in ``tests/fuzz/corpus/TARGET/`` and told. `make test` reads every kept input again.
"""

import argparse
import contextlib
import hashlib
import itertools
import random
import resource
import secrets
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzz_targets import TARGETS, Target, named

CORPUS = Path(__file__).resolve().parents[1] / "fuzz" / "corpus"
MEMORY_BYTES = 3 << 30
"""Address space of the whole run: an input that needs it up is a finding."""
SMALLER_TRIES = 150


class TooLongError(BaseException):
    """An input took more processor time than its target may; no handler of exceptions stops it."""


def fault_of(target: Target, data: bytes) -> str:
    """Return where and how reading ``data`` went wrong, empty where it did not."""
    try:
        with _bounded(target.cpu_s):
            target.read(data)
    except (Exception, TooLongError) as fault:
        frames = traceback.extract_tb(fault.__traceback__)
        place = f"{Path(frames[-1].filename).name}:{frames[-1].name}"
        if isinstance(fault, TooLongError):
            return f"more than {target.cpu_s:g} s of processor time"
        return f"{type(fault).__name__} in {place}"
    return ""


def checked(target: Target, data: bytes) -> None:
    """Read a kept input; raises what goes wrong."""
    with _bounded(target.cpu_s):
        target.read(data)


@contextlib.contextmanager
def _bounded(cpu_s: float) -> Iterator[None]:
    def end(*_: object) -> None:
        raise TooLongError(f"more than {cpu_s:g} s of processor time")

    earlier = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, earlier)


def smaller(target: Target, data: bytes, fault: str) -> bytes:
    """Return a smaller input with the same fault."""
    tries, size = 0, len(data) // 2
    start = data.find(b"\n") + 1 if target.mutator().header else 0
    while size and tries < SMALLER_TRIES:
        at = start
        while at < len(data) and tries < SMALLER_TRIES:
            tries += 1
            shorter = data[:at] + data[at + size :]
            if fault_of(target, shorter) == fault:
                data = shorter
            else:
                at += size
        size //= 2
    return data


def run(targets: Sequence[Target], seed: int, seconds: float, first: int = 0) -> dict[tuple[str, str], Path]:
    """Fuzz targets in turn, from input ``first`` of each on; return where each fault of a target is kept."""
    mutators = {one.name: one.mutator() for one in targets}
    counts: Counter[str] = Counter({one.name: first for one in targets})
    found: dict[tuple[str, str], Path] = {}
    ends = time.monotonic() + seconds
    for target in itertools.cycle(targets):
        # Each target gets the same time, not the same number of inputs.
        turn_ends = min(ends, time.monotonic() + 1.0)
        while time.monotonic() < turn_ends:
            number = counts[target.name]
            counts[target.name] += 1
            data = mutators[target.name].make(random.Random(f"{seed}/{target.name}/{number}"))
            fault = fault_of(target, data)
            if fault and (target.name, fault) not in found:
                found[target.name, fault] = kept = _keep(target, smaller(target, data, fault))
                print(f"{target.name}: {fault} (seed {seed}, input {number}), kept as {kept}", flush=True)
        if time.monotonic() >= ends:
            break
    total = sum(counts.values()) - first * len(targets)
    told = ", ".join(f"{name} {count - first}" for name, count in counts.items())
    print(f"{total} inputs of seed {seed} in {seconds:g} s: {told}; {len(found)} findings")
    return found


def main() -> int:
    """Fuzz as the command line says; return 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--only", action="append", default=[], choices=[one.name for one in TARGETS])
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each target")
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.RLIM_INFINITY))
    targets = [named(name) for name in asked.only] or list(TARGETS)
    return 1 if run(targets, asked.seed, asked.seconds, asked.first) else 0


def _keep(target: Target, data: bytes) -> Path:
    folder = CORPUS / target.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:12]
    path.write_bytes(data)
    return path.relative_to(CORPUS.parents[2])


if __name__ == "__main__":
    sys.exit(main())
