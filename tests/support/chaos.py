"""Chaos trials: ``python chaos.py --first 0 --trials 1000 [--seconds 60]``; counts, and the seeds of what broke.

A trial is ``chaos_trial.ChaosTrial`` of one seed; the same seed chooses the same change, policy and fault. What
processes do beside each other is not chosen: a broken seed may need several runs to break again.
"""

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chaos_trial import KINDS, ChaosBench, ChaosTrial, with_disks
from rollout_counts import counted
from rollout_shapes import SHAPES, Shape
from rollout_trial import BrokenError

SMALL = tuple(shape for shape in SHAPES if shape.name in ("racks", "bare"))
BATCH = 10
"""Seeds in a row on one fabric."""


def shape_of(seed: int) -> Shape:
    return SMALL[seed // BATCH % len(SMALL)]


def main() -> int:
    """Run the trials of the command line; return 1 where one broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first trial")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="begin no trial after so many seconds; 0 is no bound"
    )
    parser.add_argument("--log", type=Path, help="append a line of JSON for each trial")
    asked = parser.parse_args()
    with_disks()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ends = time.monotonic() + asked.seconds if asked.seconds else float("inf")
    told: list[dict[str, Any]] = []
    broken = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, contextlib.ExitStack() as stack:
        benches: dict[str, ChaosBench] = {}
        for seed in range(asked.first, asked.first + asked.trials):
            if time.monotonic() >= ends:
                break
            shape = shape_of(seed)
            if shape.name not in benches:
                benches[shape.name] = ChaosBench(Path(folder).resolve() / shape.name, shape)
                stack.callback(benches[shape.name].close)
            trial = ChaosTrial(benches[shape.name], seed)
            try:
                told.append(asdict(trial.run()))
            except BrokenError as fault:
                broken += 1
                told.append({**asdict(trial.told), "broken": str(fault)})
                print(f"seed {seed}: {fault}\n", flush=True)
            if asked.log:
                with asked.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(told[-1]) + "\n")
    print("\n".join([*counted(told), *by_kind(told)] if told else ["no trial"]))
    print(f"{len(told) - broken} of {len(told)} trials passed")
    if broken:
        print(f"seeds that broke: {', '.join(str(one['seed']) for one in told if 'broken' in one)}")
    return 1 if broken or not told else 0


def by_kind(told: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each kind of trial: how many, how many broke, how they ended, and how one state was reached."""
    lines = []
    for kind in KINDS:
        ones = [one for one in told if one["fault_kind"] == kind]
        if ones:
            ended, way = Counter(_ended(one) for one in ones), Counter(one["way"] or "-" for one in ones)
            counts = "; then ".join(", ".join(f"{name} {n}" for name, n in each.most_common()) for each in (ended, way))
            lines.append(f"{kind:17} {len(ones):5}, broken {sum('broken' in one for one in ones)}: {counts}")
    return lines


def _ended(one: Mapping[str, Any]) -> str:
    """Return how a trial's rollout ended, of a refusal its code alone, and the outcomes of its switches."""
    first, _, rest = one["ended"].partition(" ")
    ended = first if first.startswith("RW") else "refused" if "cannot be written" in rest else one["ended"]
    return f"{ended} ({'/'.join(one['outcomes'])})" if one["outcomes"] else ended


if __name__ == "__main__":
    sys.exit(main())
