"""Which switches are worked on from where: this process, further processes of this machine, or the target's sites."""

import hashlib
import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from nornir.core import Nornir

from nornir_railweave.target.model import Target
from nornir_railweave.target.secret_store import SecretStore
from railweave.api.design.intent import Designed
from railweave.api.journal.history import sources_digest
from railweave.api.project import Project
from railweave.diagnostics import Where, error
from railweave.errors import RefusedError
from railweave.wording import command_line, first_few

if TYPE_CHECKING:
    from nornir_railweave.workers.channel import Channel
    from nornir_railweave.workers.message import Binding
    from nornir_railweave.workers.runner import Place

PAYS_FROM = 1000
"""Switches from which on further processes pay for their start on idle processors (docs/reference/scale.md)."""
_MODELS = Path("catalog")


def spread(project: Project, designed: Designed, target: Target, nornir: Nornir) -> Nornir:
    """Return ``nornir`` with a runner that works on each switch where the target says; as it is where that is here.

    Raises RefusedError where a switch is of two sites, or the broker's URL is missing.
    """
    names = [switch.name for switch in designed.fabric.switches]
    site_of = sites_of(target, names)
    elsewhere = [name for name in names if name not in site_of]
    count = processes_for(target, len(elsewhere))
    if not site_of and count < 2:
        return nornir
    from nornir_railweave.workers.runner import Limits, Place, Spread, SpreadRunner
    from nornir_railweave.workers.serving import READING, SPREAD

    places = {name: Place(name, _channel(target, name), SPREAD, start_command(target, name)) for name in target.sites}
    of = {name: places[site] for name, site in site_of.items()}
    if count > 1:
        command = (sys.executable, "-c", _RUN, *_words(project, target))
        here = [_process(command, f"process-{number + 1}", target, READING) for number in range(count)]
        of.update({name: here[index % count] for index, name in enumerate(elsewhere)})
    rollout, times = target.rollout, target.timeouts
    changing_s = rollout.revert_in_s + times.reconnect_s + 2 * rollout.verify_timeout_s + rollout.drain_timeout_s
    reading_s = 4 * (times.connect_s + times.command_s) + times.worker_s
    limits = Limits(times.worker_s, reading_s, changing_s + reading_s)
    place_of: dict[str, Place] = of
    file = f"inventory/{target.name}.yml"
    spreading = Spread(binding_of(designed, target.name), place_of.get, limits, file)
    return nornir.with_runner(SpreadRunner(spreading, rollout.workers))


_RUN = "from railweave.cli import run; run()"


def _process(command: tuple[str, ...], name: str, target: Target, tasks: object) -> "Place":
    from nornir_railweave.workers.pipe import PipeChannel
    from nornir_railweave.workers.runner import Place

    channel = PipeChannel(command, name, target.timeouts.worker_s)
    return Place(name, channel, tasks, here=True)  # type: ignore[arg-type]


def _channel(target: Target, site: str) -> "Channel":
    command = target.sites[site].command
    if command is not None:
        from nornir_railweave.workers.pipe import PipeChannel

        return PipeChannel(command, f"the worker of site {site}", target.timeouts.worker_s)
    from nornir_railweave.workers.celery_queue import QueueChannel, make_app

    return QueueChannel(make_app(broker_url(target), target.timeouts.worker_s), site, target.timeouts.worker_s)


def broker_url(target: Target) -> str:
    """Return the URL of the target's broker; raises RefusedError where its secret cannot be resolved."""
    return "" if target.broker is None else SecretStore(target).required(target.broker.secret)


def start_command(target: Target, site: str) -> str:
    """Return the command that starts a worker of a site."""
    command = target.sites[site].command
    return " ".join(command) if command is not None else command_line("worker", "--site", site, target=target.name)


def processes_for(target: Target, switches: int) -> int:
    """Return how many processes of this machine read its switches: what the target says, else as many as pay."""
    if target.rollout.processes != "auto":
        return min(target.rollout.processes, max(1, switches))
    return len(os.sched_getaffinity(0)) if switches >= PAYS_FROM else 1


def sites_of(target: Target, names: list[str]) -> dict[str, str]:
    """Return the site of each switch that has one; raises RefusedError for a switch of two."""
    found: dict[str, str] = {}
    twice: dict[tuple[str, str], list[str]] = {}
    for site, one in target.sites.items():
        for name in [name for name in names if any(fnmatchcase(name, pattern) for pattern in one.devices)]:
            if (other := found.setdefault(name, site)) != site:
                twice.setdefault((other, site), []).append(name)
    if twice:
        where = Where(f"inventory/{target.name}.yml", path="sites")
        raise RefusedError([
            error(
                "RW606", f"{first_few(both)} {'is' if len(both) == 1 else 'are'} of the sites {one} and {other}", where,
                devices=tuple(both), fix="let each switch match the patterns of one site",
            )
            for (one, other), both in twice.items()
        ])  # fmt: skip
    return found


def binding_of(designed: Designed, target: str) -> "Binding":
    """Return what a worker must have in common with this project."""
    from nornir_railweave.workers.message import Binding
    from railweave import __version__

    digest = hashlib.sha256(sources_digest(designed.intent.sha256).encode())
    for path in sorted(path for path in _MODELS.rglob("*") if path.is_file()):
        digest.update(f"\0{path}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return Binding(designed.fabric.name, target, digest.hexdigest(), __version__)


def _words(project: Project, target: Target) -> tuple[str, ...]:
    return "worker", "--intent", str(project.intent), "--target", target.name
