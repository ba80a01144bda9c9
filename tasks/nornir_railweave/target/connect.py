"""A Nornir of a fabric: inventory, runner and connection plug-ins, without a configuration file or a log file."""

import gc
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from napalm import get_network_driver
from napalm.base.exceptions import ModuleImportError
from nornir.core import Nornir
from nornir.core.configuration import Config
from nornir.core.inventory import Inventory
from nornir.core.plugins.connections import ConnectionPluginRegister
from nornir.core.processor import Processor, Processors
from nornir.core.task import Result

from nornir_railweave.checked_driver import DriverError, blaming, checked, refusals
from nornir_railweave.target.inventory import CONNECTION, STATE_DIR, build_inventory
from nornir_railweave.target.model import Target
from nornir_railweave.target.runner import FabricRunner
from nornir_railweave.target.sessions import OpenSessions
from railweave.diagnostics import Where, error
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.switch_driver import NEEDED_TO_READ

_LOG = logging.getLogger("nornir_railweave")

DRIVERS_PAGE = "docs/how-to/drivers.md"
# The thresholds of Python's garbage collector (`gc.set_threshold`) are at most these: of new objects between two
# collections of the youngest, and of collections between two of the next older generation.
#
# SSH sessions refer to themselves, so only the collector frees one. With a second threshold of 20 a plan of 200 fresh
# switches took 158 MiB and not 151, in the same processor time.
_MOST_NEW_OBJECTS = 20_000
_MOST_COLLECTIONS = 5


def build(
    fabric: Fabric,
    target: Target,
    state_dir: Path = STATE_DIR,
    environ: Mapping[str, str] | None = None,
    processors: Sequence[Processor] = (),
    *,
    partial: bool = False,
) -> Nornir:
    """Return the Nornir through which the devices of ``fabric`` are reached on ``target``.

    ``processors`` (such as ``progress.FabricProgress``) receive every run, and cannot disturb one. Nothing is connected
    yet; what tasks connect stays open until ``sessions.close_sessions``, for as many devices as a wave has at most.
    With ``partial``, devices without an address are left out. Raises RefusedError if a secret is missing, the driver
    cannot be used, or a device has no address.
    """
    new_objects, *collections = gc.get_threshold()
    # The command line sets higher thresholds than these; 0 means that the collector is switched off.
    if new_objects > _MOST_NEW_OBJECTS:
        gc.set_threshold(_MOST_NEW_OBJECTS, *(min(_MOST_COLLECTIONS, threshold) for threshold in collections))
    inventory = build_inventory(fabric, target, state_dir, environ, partial=partial)
    _refuse_driver(inventory, target)
    # Once a process: every installed package is searched for plug-ins.
    if CONNECTION not in ConnectionPluginRegister.available:
        ConnectionPluginRegister.auto_register()
    # A library must not write to the screen: without a handler Python prints warnings to standard error.
    for name in ("nornir", "napalm", "netmiko", "paramiko", "nornir_railweave"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    guarded = (Guarded(processor) for processor in processors)
    return Nornir(
        inventory=inventory,
        runner=FabricRunner(target.rollout.workers),
        config=Config(),
        processors=Processors([OpenSessions(_most_sessions(target)), *guarded]),
    )


def _most_sessions(target: Target) -> int:
    """Return how many sessions may be open at once: those of a wave, or as many as a jump host has channels."""
    most = max(target.rollout.workers, target.rollout.wave_size)
    if target.login.jump is None:
        return most
    return min(most, target.login.jump.channels)


def _refuse_driver(inventory: Inventory, target: Target) -> None:
    """Raise RefusedError if the driver of ``target`` cannot be used; no device is tried.

    It is unknown, lacks a capability that every command needs, or does not take the target's options.
    """
    where = target.places.get("driver") or Where(f"inventory/{target.name}.yml", path="driver")
    installed = "name an installed NAPALM driver: sonic"
    capable = f"name a driver with these capabilities, such as sonic ({DRIVERS_PAGE})"
    try:
        with blaming(target.driver, "import"):
            driver_class = get_network_driver(target.driver)
    except (ModuleImportError, DriverError) as fault:
        raise RefusedError([error("RW601", str(fault), where, fix=installed)]) from None
    host = next(iter(inventory.hosts.values()))
    options = host.connection_options[CONNECTION].extras or {}
    try:
        with blaming(target.driver, "__init__"):
            # A NAPALM driver connects in open(), never in its constructor.
            connection = driver_class(host.hostname, host.username, host.password, **options)
    except DriverError as fault:
        # By these exceptions a constructor refuses options that it does not know.
        if isinstance(fault.__cause__, TypeError | ValueError):
            message = str(fault.__cause__)
            raise RefusedError([error("RW601", message, where, fix="correct `options:` of the target")]) from None
        raise RefusedError([error("RW601", str(fault), where, fix=capable)]) from None
    try:
        refused = refusals(checked(connection, type(connection).__name__), NEEDED_TO_READ)
    except DriverError as fault:
        refused = [str(fault)]
    if refused:
        raise RefusedError([error("RW601", message, where, fix=capable) for message in refused])


class Guarded:
    """A processor around another: the first exception of the inner one is logged and ends its part.

    Without it, that exception would escape ``Nornir.run`` and lose every result.
    """

    def __init__(self, inner: Processor) -> None:
        self._inner: Processor | None = inner

    def __getattr__(self, method: str) -> Callable[..., None]:
        """Return what passes on a method of a processor; Nornir calls them all alike."""
        return partial(self._tell, method)

    def _tell(self, method: str, *arguments: object) -> None:
        if self._inner is None:
            return
        try:
            getattr(self._inner, method)(*arguments)
        except Exception:
            _LOG.exception("a processor failed and receives no more events")
            self._inner = None


def only(nr: Nornir, names: Collection[str]) -> Nornir:
    """Return ``nr`` with the hosts ``names`` alone."""
    kept_names = frozenset(names)
    return nr.filter(filter_func=lambda host: host.name in kept_names)


def run_on(nr: Nornir, names: Collection[str], task: Callable[..., Result], **arguments: Any) -> dict[str, Any]:
    """Run ``task`` on the hosts ``names``; return the result of each by name, None if a host was not attempted.

    Raises the exception of a task, which is a mistake of the program.
    """
    if not names:
        return {}
    results = only(nr, names).run(task, on_failed=True, **arguments)
    for name in names:
        fault = results[name][0].exception
        if fault is not None:
            raise fault
    return {name: results[name][0].result for name in names}
