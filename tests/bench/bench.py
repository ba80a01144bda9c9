"""What commands cost, run as users run them: time, memory, and processor time a switch (`make bench`, `make scale`).

With ``--against`` another checkout takes turns with this one, so that both meet the same load; the medians stand side
by side. Nothing fails by the clock: a figure beyond its bar is marked with ``!``.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from accepting import MOST_MIB, MOST_MS_A_NODE, MOST_S, NODES, measure
from exporting import measure_alone
from figures import Bar, Figures, Measurement, run, table, turns
from intents import ACCEPTED, ACCEPTED_SMALL, DENSE, LARGER_MTU, PODS, SLOWER_BGP, TENANTS, THIN, thin

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from acceptance_faults.carry_out import carry_out
from acceptance_faults.nature import Conditions

ROOT = Path(__file__).resolve().parents[2]
THIS, OTHER = "this", "against"
Checkouts = Mapping[str, Path]


def main() -> None:
    """Measure what the command line asks for, and print it."""
    asked = _asked()
    checkouts: Checkouts = {THIS: ROOT} | ({OTHER: asked.against.resolve()} if asked.against else {})
    with tempfile.TemporaryDirectory(prefix="railweave-bench-") as folder:
        place = Path(folder)
        found: list[Measurement] = []
        for one in _scale(place) if asked.scale else _bench(checkouts, place, asked):
            found.append(one)
            if not asked.json:
                print("\n".join(list(table(found))[None if len(found) == 1 else -1 :]), flush=True)
    if asked.json:
        print(
            json.dumps(
                {"version": 1, "processors": os.cpu_count(), "measurements": [o.json() for o in found]}, indent=2
            )
        )


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout with an environment of its own")
    parser.add_argument("--json", action="store_true", help="print a document in the place of the table")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each measurement")
    parser.add_argument("--largest", type=int, default=4096, metavar="SWITCHES", help="leave larger fabrics out")
    parser.add_argument("--switches", type=int, default=72, help="simulated switches")
    parser.add_argument("--scale", action="store_true", help="a thousand simulated switches, once")
    return parser.parse_args()


def _bench(checkouts: Checkouts, place: Path, asked: argparse.Namespace) -> Iterator[Measurement]:
    yield from _starting(checkouts, place, asked.rounds)
    for kind, intents in (("thin", THIN), ("dense", DENSE), ("tenants'", TENANTS), ("three-tier", PODS)):
        for switches, text in intents.items():
            if switches <= asked.largest:
                yield from _offline(checkouts, place, f"{switches:,} {kind}", text, asked.rounds)
    yield from _acceptance(checkouts, place, asked.rounds)
    yield from _live(checkouts, place, asked.switches, asked.rounds)
    yield _exporter(place)
    yield from _accepting(place)


def _starting(checkouts: Checkouts, place: Path, rounds: int) -> Iterator[Measurement]:
    """Measure what is mostly the start of the program, on a pod."""
    pod = ROOT / "intent/pod-32.yml"
    for words, most in ((("--help",), 0.10), (("check", str(pod)), 0.35), (("size", str(pod)), 0.35)):

        def once(checkout: Path, _turn: int, words: tuple[str, ...] = words) -> Figures:
            return run(checkout, place, *words)

        name = " ".join(("railweave", *words)).replace(f"{pod.parent}/", "")
        yield turns(name, checkouts, 3 * rounds, once, Bar("elapsed_s", most))


def _offline(checkouts: Checkouts, place: Path, name: str, text: str, rounds: int) -> Iterator[Measurement]:
    """Measure a size without devices: checked, rendered, and two tiers compared with a change of every switch."""
    folder = place / name.replace(" ", "-")
    folder.mkdir()
    (folder / "intent.yml").write_text(text)
    bars = {"1,024 thin": 1.2, "1,024 dense": 4.0, "1,024 tenants'": 6.0, "4,096 three-tier": 8.0}

    def check(checkout: Path, _turn: int) -> Figures:
        return run(checkout, folder, "check", "intent.yml")

    def render(checkout: Path, _turn: int) -> Figures:
        shutil.rmtree(folder / "out", ignore_errors=True)
        return run(checkout, folder, "render", "intent.yml", "--out", "out")

    def monitoring(checkout: Path, _turn: int) -> Figures:
        return run(checkout, folder, "telemetry", "render", "intent.yml", "--out", "monitoring")

    yield turns(f"check, {name} switches", checkouts, rounds, check)
    yield turns(f"render, {name} switches", checkouts, rounds, render, _cpu(bars.get(name)))
    if name == "1,024 dense":
        yield turns(f"telemetry render, {name} switches", checkouts, rounds, monitoring, _cpu(3.5))
    changes = () if name.endswith(("three-tier", "tenants'")) else (("MTU", LARGER_MTU), ("BGP timers", SLOWER_BGP))
    for what, change in changes:
        (folder / "changed.yml").write_text(text + change)

        def diff(checkout: Path, _turn: int) -> Figures:
            return run(checkout, folder, "diff", "intent.yml", "changed.yml", "--intent", "intent.yml")

        bar = _cpu(5.0 if name == "1,024 dense" else None)
        yield turns(f"diff, {what} of {name} switches", checkouts, rounds, diff, bar)
    shutil.rmtree(folder)


def _acceptance(checkouts: Checkouts, place: Path, rounds: int) -> Iterator[Measurement]:
    """Measure the plan of an acceptance of 4,096 nodes, and the verdicts on results of smaller ones."""
    folder = place / "acceptance"
    folder.mkdir()
    (folder / "intent.yml").write_text(ACCEPTED)
    (folder / "small.yml").write_text(ACCEPTED_SMALL)

    def plan(checkout: Path, _turn: int) -> Figures:
        return run(checkout, folder, "acceptance", "plan", "intent.yml", "--out", "out")

    yield turns("acceptance plan, 4,096 nodes", checkouts, rounds, plan, _cpu(3.0))
    # A million rows of counters are judged once: no chance is in their time.
    for name, intent, times in (("pod-32", ROOT / "intent/pod-32.yml", rounds), ("128 nodes", folder / "small.yml", 1)):
        judged = f"judged-{name.replace(' ', '-')}"
        run(ROOT, folder, "acceptance", "plan", str(intent), "--out", judged)
        carry_out(folder / judged, Conditions(), 1)

        def judge(checkout: Path, _turn: int, judged: str = judged) -> Figures:
            # Its status is 1 where the chance of a hash leaves a link unused.
            return run(checkout, folder, "acceptance", "judge", judged, statuses=(0, 1))

        yield turns(f"acceptance judge, quick of {name}", checkouts, times, judge)
    shutil.rmtree(folder)


def _cpu(most_s: float | None) -> Bar | None:
    return None if most_s is None else Bar("cpu_s", most_s)


class _Fabric:
    """A simulated fabric of one checkout, in a project of its own; the simulator is a process of its own too."""

    def __init__(self, checkout: Path, folder: Path, leaves: int) -> None:
        self.checkout, self.folder, self.text = checkout, folder, thin(leaves)
        (folder / "intent").mkdir(parents=True)
        shutil.copytree(ROOT / "inventory", folder / "inventory")
        self.write("")

    def write(self, more: str) -> None:
        (self.folder / "intent/fabric.yml").write_text(self.text + more)

    def run(self, *words: str) -> Figures:
        return run(self.checkout, self.folder, *words)

    def down(self) -> None:
        command = [str(self.checkout / ".venv/bin/railweave"), "sim", "down", "--all"]
        subprocess.run(command, cwd=self.folder, capture_output=True, check=False)

    def provision(self) -> Figures:
        """Deploy to switches fresh from the factory."""
        self.down()
        self.write("")
        self.run("sim", "up")
        return self.run("deploy", "--target", "sim", "--yes", "--provision")

    def plan(self) -> Figures:
        return self.run("plan", "--target", "sim", "--exit-code")

    def verify(self) -> Figures:
        return self.run("verify", "--target", "sim")

    def change(self) -> Figures:
        """Raise the MTU of every port."""
        self.write(LARGER_MTU)
        return self.run("deploy", "--target", "sim", "--yes")


# One comparison of each switch with the intent is in it (`railweave exporter` makes it every 300 seconds).
_EXPORTER_S = 300.0


def _exporter(place: Path) -> Measurement:
    """Measure the exporter of a pod of leaves with 64 ports and spines with 32: a switch and reading."""
    figures = measure_alone(ROOT, place / "exporter", ROOT / "intent/pod-32.yml", _EXPORTER_S)
    runs = {THIS: [Figures(figures.seconds, figures.cpu_s, figures.peak_mib)]}
    return Measurement("exporter, a reading of a switch", runs, Bar("ms", 15.0), figures.readings)


def _accepting(place: Path) -> Iterator[Measurement]:
    """Measure a level on simulated nodes, once; nothing without root."""
    if os.geteuid() != 0:
        print("acceptance run: left out, as simulated nodes need root", file=sys.stderr)
        return
    runs = {THIS: [measure(ROOT, place / "accepting").as_figures()]}
    name = f"acceptance run, quick of {NODES} nodes"
    yield Measurement(f"{name}: time", runs, Bar("elapsed_s", MOST_S))
    yield Measurement(f"{name}: a node", runs, Bar("ms", MOST_MS_A_NODE), NODES)
    yield Measurement(f"{name}: memory", runs, Bar("peak_mib", MOST_MIB))


_LIVE = (("provisioning", 100.0), ("plan, no changes", 8.0), ("verification", 10.0), ("MTU change", 40.0))
"""What is measured on simulated switches, and the most milliseconds of the client's processor time that a switch may
cost."""


def _live(checkouts: Checkouts, place: Path, switches: int, rounds: int) -> Iterator[Measurement]:
    """Measure deployments; a switch costs what a large fabric takes more than a small one, the start left out."""
    sizes = (max(1, (switches - 8) // 8), max(2, (switches - 8) // 4))
    fabrics = {
        (label, leaves): _Fabric(checkout, place / f"{label}-{leaves}", leaves)
        for label, checkout in checkouts.items()
        for leaves in sizes
    }
    found: dict[tuple[str, str, int], list[Figures]] = {}
    try:
        for turn in range(rounds):
            for (label, leaves), fabric in fabrics.items():
                steps = (fabric.provision(), fabric.plan(), fabric.verify(), fabric.change())
                for (what, _), figures in zip(_LIVE, steps, strict=True):
                    found.setdefault((what, label, leaves), []).append(figures)
                fabric.down()
            print(f"simulated switches: turn {turn + 1} of {rounds}", file=sys.stderr, flush=True)
    finally:
        for fabric in fabrics.values():
            fabric.down()
    small, large = sizes
    for what, most_ms in _LIVE:
        runs = {label: _more(found[what, label, large], found[what, label, small]) for label in checkouts}
        name = f"{what}, {4 * (large - small)} switches more than {4 * small + 8}"
        yield Measurement(name, runs, Bar("ms", most_ms), 4 * (large - small))


def _more(large: Iterable[Figures], small: Iterable[Figures]) -> list[Figures]:
    """Return what the larger fabric took more, turn by turn; its memory is its own."""
    return [
        Figures(one.elapsed_s - two.elapsed_s, one.cpu_s - two.cpu_s, one.peak_mib)
        for one, two in zip(large, small, strict=True)
    ]


def _scale(place: Path) -> Iterator[Measurement]:
    """Measure a thousand simulated switches once: planned, provisioned, verified and changed."""
    workers = os.environ.get("RAILWEAVE_BENCH_WORKERS", "32")
    fabric = _Fabric(ROOT, place / "scale", leaves=248)
    target = fabric.folder / "inventory/sim.yml"
    target.write_text(target.read_text().replace("workers: 32 ", f"workers: {workers} "))
    memory = Bar("peak_mib", 250.0)
    steps: tuple[tuple[str, Callable[[], Figures], Bar | None], ...] = (
        ("sim up", lambda: fabric.run("sim", "up"), None),
        ("plan, fresh from the factory", lambda: fabric.run("plan", "--target", "sim"), None),
        ("provisioning", lambda: fabric.run("deploy", "--target", "sim", "--yes", "--provision"), memory),
        ("plan, no changes", fabric.plan, Bar("elapsed_s", 30.0)),
        ("verification", fabric.verify, None),
        ("MTU change", fabric.change, memory),
    )
    try:
        for name, step, bar in steps:
            yield Measurement(f"1,000 switches, {workers} workers: {name}", {THIS: [step()]}, bar, 1000)
    finally:
        fabric.down()


if __name__ == "__main__":
    main()
