"""Where each switch is worked on from: this process, further processes of this machine, or a site of the target."""

import os
import sys
from fnmatch import fnmatchcase
from itertools import cycle
from typing import TYPE_CHECKING

from nornir.core import Nornir

from nornir_railweave.target.model import Target
from nornir_railweave.target.secret_store import SecretStore
from railweave.api.design.intent import Designed
from railweave.api.project import Project
from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.wording import command_line, first_few

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nornir_railweave.workers.channel import Channel
    from nornir_railweave.workers.message import ProjectBinding
    from nornir_railweave.workers.runner import TaskLimits, WorkPlace
    from nornir_railweave.workers.spread_task import SpreadTask

PAYS_FROM = 1000
"""Switches from which on further processes pay for their start on idle processors (docs/reference/scale.md)."""


def spread(project: Project, designed: Designed, target: Target, nornir: Nornir) -> Nornir:
    """Return ``nornir`` with a runner that works on each switch from its site, or from a further process.

    Returns ``nornir`` unchanged if this process works on all switches. Raises RefusedError if a switch is of two sites,
    or if the secret with the broker's URL cannot be resolved.
    """
    names = [switch.name for switch in designed.fabric.switches]
    site_of = sites_of(target, names)
    without_site = [name for name in names if name not in site_of]
    count = processes_for(target, len(without_site))
    if not site_of and count < 2:
        return nornir
    # Imported late: a target without sites and further processes needs none of it.
    from nornir_railweave.workers.runner import SpreadRunner, TaskSpread
    from nornir_railweave.workers.serving import READING

    site_places = _site_places(target)
    place_of = {name: site_places[site] for name, site in site_of.items()}
    if count > 1:
        command = (sys.executable, "-c", _RUN, "worker", "--intent", str(project.intent), "--target", target.name)
        # Only reading and verifying cost processor time for every switch; changes wait for the switches.
        processes = [_process(command, f"process-{number}", target, READING) for number in range(1, count + 1)]
        # The switches take turns, so that every process has as many.
        place_of |= dict(zip(without_site, cycle(processes), strict=False))
    file = f"inventory/{target.name}.yml"
    binding = binding_of(designed, target.name)
    task_spread = TaskSpread(binding, place_of.get, limits=_task_limits(target), target_file=file)
    return nornir.with_runner(SpreadRunner(task_spread, target.rollout.workers))


def _site_places(target: Target) -> dict[str, "WorkPlace"]:
    """Return the place of work of each site, by its name; no worker is asked yet."""
    from nornir_railweave.workers.runner import WorkPlace
    from nornir_railweave.workers.serving import SPREAD

    places = {}
    for site in target.sites:
        channel = _channel(target, site)
        places[site] = WorkPlace(site, channel, tasks=SPREAD, start=start_command(target, site))
    return places


def _task_limits(target: Target) -> "TaskLimits":
    """Return how long the tasks of a switch may take at a worker, in seconds, by the target's timeouts."""
    from nornir_railweave.workers.runner import TaskLimits

    rollout = target.rollout
    timeouts = target.timeouts
    # A few logins and commands, and the answer of the worker.
    read_s = 4 * (timeouts.connect_s + timeouts.command_s) + timeouts.worker_s
    # A change may also drain and verify the switch, and wait until its revert timer has expired and it answers again.
    waits_s = rollout.revert_in_s + timeouts.reconnect_s + 2 * rollout.verify_timeout_s + rollout.drain_timeout_s
    return TaskLimits(take_s=timeouts.worker_s, read_s=read_s, change_s=waits_s + read_s)


_RUN = "from railweave.cli import run; run()"


def _process(command: tuple[str, ...], name: str, target: Target, tasks: "Mapping[str, SpreadTask]") -> "WorkPlace":
    """Return a further process of this machine as a place of work; it is not started yet."""
    from nornir_railweave.workers.pipe import PipeChannel
    from nornir_railweave.workers.runner import WorkPlace

    channel = PipeChannel(command, name, target.timeouts.worker_s)
    return WorkPlace(name, channel, tasks, here=True)


def _channel(target: Target, site: str) -> "Channel":
    """Return the channel to the workers of a site: the pipe of the site's own command, else a queue of the broker."""
    command = target.sites[site].command
    timeout_s = target.timeouts.worker_s
    if command is not None:
        from nornir_railweave.workers.pipe import PipeChannel

        return PipeChannel(command, f"the worker of site {site}", timeout_s)
    from nornir_railweave.workers.celery_queue import QueueChannel, make_app

    return QueueChannel(make_app(broker_url(target), timeout_s), site, timeout_s)


def broker_url(target: Target) -> str:
    """Return the URL of the target's broker, empty without one; raises RefusedError for an unresolved secret."""
    if target.broker is None:
        return ""
    return SecretStore(target).required(target.broker.secret)


def start_command(target: Target, site: str) -> str:
    """Return the command that starts a worker of a site."""
    command = target.sites[site].command
    if command is None:
        return command_line("worker", "--site", site, target=target.name)
    return " ".join(command)


def processes_for(target: Target, switches: int) -> int:
    """Return how many processes of this machine read ``switches`` switches.

    The target says how many; by default there is one for each processor if the switches are so many that it pays.
    """
    if target.rollout.processes != "auto":
        return min(target.rollout.processes, max(1, switches))
    if switches < PAYS_FROM:
        return 1
    # Not os.cpu_count(): a container or a cpuset may grant fewer.
    return len(os.sched_getaffinity(0))


def sites_of(target: Target, names: list[str]) -> dict[str, str]:
    """Return the site of each switch that has one. Raises RefusedError if a switch is of two sites."""
    site_of: dict[str, str] = {}
    # The switches that match the patterns of two sites, by the names of these.
    switches_of_pair: dict[tuple[str, str], list[str]] = {}
    for site_name, site in target.sites.items():
        for name in names:
            if not any(fnmatchcase(name, pattern) for pattern in site.devices):
                continue
            first_site = site_of.setdefault(name, site_name)
            if first_site != site_name:
                switches_of_pair.setdefault((first_site, site_name), []).append(name)
    if switches_of_pair:
        raise RefusedError(
            [_of_two_sites(target, first, second, shared) for (first, second), shared in switches_of_pair.items()]
        )
    return site_of


def _of_two_sites(target: Target, first: str, second: str, names: list[str]) -> Diagnostic:
    """Return the error for switches that match the patterns of two sites."""
    verb = "is" if len(names) == 1 else "are"
    return error(
        "RW606",
        f"{first_few(names)} {verb} of the sites {first} and {second}",
        Where(f"inventory/{target.name}.yml", path="sites"),
        devices=tuple(names),
        fix="let each switch match the patterns of one site",
    )


def binding_of(designed: Designed, target: str) -> "ProjectBinding":
    """Return what a worker must have in common with this project."""
    from nornir_railweave.workers.message import ProjectBinding
    from railweave import __version__
    from railweave.api.journal.history import sources_digest

    return ProjectBinding(designed.fabric.name, target, sources_digest(designed.intent.sha256), __version__)
