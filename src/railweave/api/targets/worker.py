"""A worker: a process that works on switches for a coordinator elsewhere, with its own project, target and logins."""

import os

from nornir_railweave.target.connect import build
from nornir_railweave.target.target_file import load_target
from nornir_railweave.workers.celery_queue import make_app, serve_queue
from nornir_railweave.workers.pipe import own_pipe, serve
from nornir_railweave.workers.serving import Worker
from nornir_railweave.workers.workbench import Workbench
from railweave.api.design.intent import load_configurable
from railweave.api.project import Project, find_target
from railweave.api.targets.fabric import on_nornir, secret_places
from railweave.api.targets.sites import binding_of, broker_url
from railweave.catalog.load import use_own_models
from railweave.errors import UsageError


def load_workbench(project: Project, target: str) -> Workbench:
    """Read the project and its target, and return what a worker works with. Raises RefusedError, UsageError."""
    use_own_models()
    designed = load_configurable(project.intent)
    loaded = load_target(find_target(target))
    # Partial: the target file of a site may lack the addresses of the switches of other sites.
    nornir = build(designed.fabric, loaded, partial=True)
    fabric = on_nornir(designed, loaded, nornir, project.operator.progress())
    missing = tuple(name for name in secret_places(designed.intent) if name not in fabric.secrets)
    return Workbench(
        binding=binding_of(designed, target),
        nornir=nornir,
        fabric=designed.fabric,
        target=loaded,
        intended=fabric.intended,
        scope=fabric.scope,
        missing_secrets=missing,
    )


def worker(project: Project, target: str, *, site: str = "") -> None:
    """Work for a coordinator: on the queue of ``site`` until a signal, else on standard input until its end.

    Raises UsageError for an unknown target or site, RefusedError if the target's file has errors or the secret with the
    broker's URL cannot be resolved.
    """
    loaded = load_target(find_target(target))

    def load() -> Workbench:
        return load_workbench(project, target)

    if not site:
        serve(Worker(load), *own_pipe(), loaded.rollout.workers)
        # The coordinator is gone, and nobody waits for running tasks: switches revert what is not confirmed by
        # themselves.
        os._exit(0)
    # A site with a command of its own is reached through that command's standard input, not through a queue.
    sites_with_queue = [name for name, target_site in loaded.sites.items() if target_site.command is None]
    if site not in sites_with_queue:
        available = ", ".join(sites_with_queue) or "none"
        raise UsageError(f"no site {site!r} with a queue in inventory/{target}.yml (sites with a queue: {available})")
    app = make_app(broker_url(loaded), loaded.timeouts.worker_s)
    serve_queue(app, lambda name: Worker(load, name), site, loaded.rollout.workers)
