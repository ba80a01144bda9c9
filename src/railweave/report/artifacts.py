"""Writing every artefact of a fabric: ``fabric.json``, ``cables.csv``, CONFIG_DB and FRR of each switch.

Devices are configured and written one by one, so memory holds the fabric and one device. Above some hundred devices
the work is shared by forked processes, which inherit the fabric without copying it.
"""

import gc
import multiprocessing
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

import orjson

from railweave.diagnostics import Diagnostic
from railweave.errors import RailweaveError, RefusedError
from railweave.fabric.model import Fabric, Switch
from railweave.report.folder import replacing
from railweave.sonic.configure import Configurator
from railweave.sonic.rows import DeviceConfig
from railweave.templates import Templates

SHARED_ABOVE = 200
"""Devices from which several processes pay for their start."""

_SLICES_PER_PROCESS = 4
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


def write_artifacts(fabric: Fabric, out: Path, templates: Templates, *, processes: int | None = None) -> int:
    """Write all artefacts of ``fabric`` into the folder ``out`` and return the number of files.

    The folder is replaced as a whole. ``processes`` is by default one a core, and one for a small fabric. Raises
    RailweaveError when ``out`` is not ours or cannot be written, RefusedError for what cannot be configured.
    """
    # Refuses what cannot be configured before anything is written, in this process.
    configurator = Configurator(fabric, templates)
    with replacing(out) as folder:
        switches = folder / "switches"
        switches.mkdir()
        count = processes or _processes(len(fabric.switches))
        if count == 1:
            _write_switches(configurator, fabric.switches, switches)
            _write_fabric(fabric, folder)
        else:
            _write_shared(configurator, folder, count)
    return 2 + 2 * len(fabric.switches)


def config_db_json(config: DeviceConfig) -> bytes:
    """Return the CONFIG_DB rows of a device as JSON, tables and rows in natural order."""
    return orjson.dumps(config.config_db(), option=_JSON)


def _processes(devices: int) -> int:
    # A fork of a process with threads may inherit a lock that nobody will release.
    forks = "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1
    if devices <= SHARED_ABOVE or not forks:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _write_fabric(fabric: Fabric, folder: Path) -> None:
    from railweave.cabling.table import cables_csv
    from railweave.design.document import fabric_json

    (folder / "fabric.json").write_bytes(orjson.dumps(fabric_json(fabric), option=_JSON))
    (folder / "cables.csv").write_bytes(cables_csv(fabric))


def _write_switches(configurator: Configurator, switches: Sequence[Switch], folder: Path) -> None:
    for switch in switches:
        config = configurator.device(switch)
        own = folder / switch.name
        own.mkdir()
        (own / "config_db.json").write_bytes(config_db_json(config))
        (own / "frr.conf").write_text(config.frr, encoding="utf-8", newline="\n")


@dataclass(frozen=True, slots=True)
class _Share:
    """What the forked processes work on; inherited, never sent."""

    configurator: Configurator
    folder: Path


_share: _Share | None = None
"""Set in a forked process only."""


def _adopt(share: _Share) -> None:
    global _share  # noqa: PLW0603  the pool gives its processes no other way to keep a value
    _share = share
    # The fabric never becomes garbage here; looking through it again and again would cost more than the work.
    gc.freeze()


def _write_slice(bounds: tuple[int, int]) -> tuple[Diagnostic, ...]:
    """Write the switches between two indexes; a refusal comes back as its findings."""
    assert _share is not None, "a slice is written by a process of the pool"  # noqa: S101
    switches = _share.configurator.fabric.switches[slice(*bounds)]
    try:
        _write_switches(_share.configurator, switches, _share.folder)
    except RefusedError as refused:
        return refused.diagnostics
    return ()


def _write_shared(configurator: Configurator, folder: Path, processes: int) -> None:
    total = len(configurator.fabric.switches)
    size = -(-total // (processes * _SLICES_PER_PROCESS))
    slices = [(start, start + size) for start in range(0, total, size)]
    share = _Share(configurator, folder / "switches")
    context = multiprocessing.get_context("fork")
    # Unlike multiprocessing's own pool this one notices when a process is killed, by the memory limit for example.
    with ProcessPoolExecutor(processes, context, _adopt, (share,)) as pool:
        pending = [pool.submit(_write_slice, bounds) for bounds in slices]
        _write_fabric(configurator.fabric, folder)
        try:
            found = [one for each in pending for one in each.result()]
        except BrokenProcessPool as fault:
            raise RailweaveError("a process that wrote artefacts was killed; is there memory left?") from fault
    if found:
        raise RefusedError(found)
