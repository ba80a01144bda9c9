"""A Nornir of a fabric: inventory, runner and connection plug-ins, without a configuration file or a log file."""

import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from nornir.core import Nornir
from nornir.core.configuration import Config
from nornir.core.plugins.connections import ConnectionPluginRegister
from nornir.core.processor import Processor, Processors

from nornir_railweave.inventory import STATE_DIR, build_inventory
from nornir_railweave.processors import Guarded
from nornir_railweave.runner import FabricRunner
from nornir_railweave.target import Target
from railweave.fabric.model import Fabric


def build(
    fabric: Fabric,
    target: Target,
    state_dir: Path = STATE_DIR,
    environ: Mapping[str, str] | None = None,
    processors: Sequence[Processor] = (),
) -> Nornir:
    """Return the Nornir through which the devices of ``fabric`` are reached on ``target``.

    ``processors`` (such as ``progress.FabricProgress``) are told of every run, and cannot disturb one. Nothing
    is connected yet. Raises RefusedError where a device has no address or a secret is missing.
    """
    inventory = build_inventory(fabric, target, state_dir, environ)
    ConnectionPluginRegister.auto_register()
    # A library must not write to the screen: without a handler Python prints warnings to standard error.
    for name in ("nornir", "napalm", "netmiko", "paramiko", "nornir_railweave"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    return Nornir(
        inventory=inventory,
        runner=FabricRunner(target.rollout.workers),
        config=Config(),
        processors=Processors([Guarded(each) for each in processors]),
    )


def only(nr: Nornir, names: Collection[str]) -> Nornir:
    """Return ``nr`` with these hosts alone."""
    chosen = frozenset(names)
    return nr.filter(filter_func=lambda host: host.name in chosen)
