"""Writing every artifact of a fabric: ``fabric.json``, the tables of cables, each switch and each GPU node.

Devices are configured and written one by one, so memory holds the fabric and one device. Above some hundred devices
the work is shared by forked processes, which inherit the fabric without copying it.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import orjson

from railweave.diagnostics import Diagnostic
from railweave.errors import RailweaveError, RefusedError
from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.files import cannot_write, create_private
from railweave.forks import forked, processes_for, slice_of
from railweave.hosts.places import PROGRAMS
from railweave.hosts.render import HostRenderer
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.frr_text import FRR_TEMPLATE
from railweave.sonic.rows import TableRows
from railweave.templates import Templates

MARKER = ".railweave-render"
"""The file that marks a folder as generated."""

_MARKER_TEXT = "This folder is written by `railweave render`, which replaces everything in it.\n"


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces ``out`` when the block ends, and is removed if it raises.

    Raises RailweaveError when ``out`` is a file, holds other files, or cannot be replaced.
    """
    target = out.resolve()
    _refuse_foreign(out, target)
    fresh = target.with_name(f".{target.name}.new-{os.getpid()}")
    try:
        fresh.parent.mkdir(parents=True, exist_ok=True)
        fresh.mkdir()
        (fresh / MARKER).write_text(_MARKER_TEXT, encoding="utf-8")
        yield fresh
        _swap(fresh, target)
    except OSError as exc:
        raise RailweaveError(cannot_write(out, exc)) from exc
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _refuse_foreign(out: Path, target: Path) -> None:
    """Raise RailweaveError if ``target``, the resolved ``out``, is a file or a folder that holds other files."""
    if not target.exists():
        return
    if not target.is_dir():
        raise RailweaveError(f"{out} is a file; name a folder")
    if not (target / MARKER).is_file() and any(target.iterdir()):
        raise RailweaveError(
            f"{out} holds files that railweave did not write; name an empty folder, a new one, or one rendered before"
        )


def _swap(fresh: Path, target: Path) -> None:
    """Move the folder ``fresh`` to ``target``, and remove the folder that was there."""
    # A rename replaces an empty folder, but no other.
    if not target.exists() or not any(target.iterdir()):
        fresh.rename(target)
        return
    # Between the two renames neither folder is half written, and a killed process loses none of them.
    old = target.with_name(f".{target.name}.old-{os.getpid()}")
    target.rename(old)
    try:
        fresh.rename(target)
    except BaseException:
        with suppress(OSError):
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


SWITCHES = "switches"
HOSTS = "hosts"
"""Folders with a folder for each device."""

MOST_HOST_PORTS = 1000
"""Ports of nodes up to which their files are written unasked."""

SHARED_ABOVE = 200
"""Devices from which several processes pay for their start."""

_JSON = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


def writes_hosts(fabric: Fabric) -> bool:
    """Whether the files of the nodes of ``fabric`` are written by default.

    Each port has a file: those of many nodes take longer than all switches, and `railweave hosts` does not need them.
    """
    return sum(len(host.ports) for host in fabric.hosts) <= MOST_HOST_PORTS


def write_artifacts(
    fabric: Fabric, out: Path, templates: Templates, *, hosts: bool | None = None, processes: int | None = None
) -> int:
    """Write all artifacts of ``fabric`` into the folder ``out`` and return the number of files.

    The folder is replaced as a whole. ``hosts`` says whether the files of nodes are written; by default they are,
    unless there are very many. ``processes`` is by default one for each core, and one for a small fabric. Raises
    RailweaveError when ``out`` holds other files or cannot be written, RefusedError if the fabric cannot be configured.
    """
    if hosts is None:
        hosts = writes_hosts(fabric)
    host_count = len(fabric.hosts) if hosts else 0
    # Refuses what cannot be configured before anything is written, in this process.
    maker = _Maker(Configurator(fabric, templates), HostRenderer(fabric, templates))
    with replacing(out) as folder:
        (folder / SWITCHES).mkdir()
        if hosts:
            (folder / HOSTS).mkdir()
        if not processes:
            processes = processes_for(len(fabric.switches) + host_count, SHARED_ABOVE)
        if processes == 1:
            maker.write(slice(None), slice(host_count), folder)
            _write_fabric(fabric, folder)
        else:
            _write_shared(maker, folder, processes, host_count)
    # fabric.json, cables.csv and management.csv; config_db.json and frr.conf of each switch.
    files = 2 + 2 * len(fabric.switches)
    if fabric.management is not None:
        files += 1
    if hosts:
        files += file_count(fabric, maker.renderer)
    return files


_fragments: WeakKeyDictionary[TableRows, bytes] = WeakKeyDictionary()
"""The JSON of blocks that many switches share; it changes no result."""


def blocks_json(blocks: Iterable[TableRows]) -> bytes:
    """Return CONFIG_DB rows as JSON, tables and rows in natural order; what switches share is written only once."""
    return orjson.dumps({block.table: _block_value(block) for block in blocks}, option=_JSON)


def _block_value(block: TableRows) -> object:
    """Return the rows of a table as orjson takes them; rows that many switches share are encoded once."""
    if not block.shared:
        return {row.key: row.fields for row in block.rows}
    text = _fragments.get(block)
    if text is None:
        rows = orjson.dumps({row.key: row.fields for row in block.rows}, option=orjson.OPT_INDENT_2)
        # Indented by one more level; a JSON text has line breaks only between its values.
        text = rows.replace(b"\n", b"\n  ")
        _fragments[block] = text
    return orjson.Fragment(text)


def _write_fabric(fabric: Fabric, folder: Path) -> None:
    """Write the files of the whole fabric: ``fabric.json`` and the tables of cables."""
    from railweave.cabling.table import cables_csv
    from railweave.design.document import fabric_json

    (folder / "fabric.json").write_bytes(orjson.dumps(fabric_json(fabric), option=_JSON))
    (folder / "cables.csv").write_bytes(cables_csv(fabric))
    if fabric.management is not None:
        from railweave.cabling.management import management_csv

        (folder / "management.csv").write_bytes(management_csv(fabric.management))


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the files of devices; keeps what they share."""

    configurator: Configurator
    renderer: HostRenderer

    def write(self, switches: slice, hosts: slice, folder: Path) -> None:
        """Write the files of some switches and nodes into ``folder``; the slices select them in the fabric's order."""
        for switch in self.configurator.fabric.switches[switches]:
            config_db = blocks_json(self.configurator.blocks(switch))
            switch_folder = f"{folder}/{SWITCHES}/{switch.name}"
            os.mkdir(switch_folder)
            # What a switch runs may hold passwords and keys; everybody may read the rest of the folder.
            create_private(f"{switch_folder}/config_db.json", config_db)
            create_private(f"{switch_folder}/frr.conf", self.configurator.frr(switch).encode())
        write_hosts(self.renderer, self.renderer.fabric.hosts[hosts], folder / HOSTS)


def _write_shared(maker: _Maker, folder: Path, processes: int, hosts: int) -> None:
    """Write all artifacts by several forked processes, and the files of the first ``hosts`` nodes.

    Raises RefusedError with the diagnostics of all processes.
    """
    fabric = maker.configurator.fabric
    # Before the fork, so that all processes inherit the compiled template.
    maker.configurator.templates.compile(FRR_TEMPLATE)

    def write(part: int, parts: int) -> tuple[Diagnostic, ...]:
        switches = slice_of(len(fabric.switches), part, parts)
        try:
            maker.write(switches, slice_of(hosts, part, parts), folder)
        except RefusedError as refused:
            return refused.diagnostics
        return ()

    with forked(write, processes) as diagnostics_by_part:
        # Meanwhile this process writes the files of the whole fabric.
        _write_fabric(fabric, folder)
        diagnostics = [diagnostic for part in diagnostics_by_part for diagnostic in part]
    if diagnostics:
        raise RefusedError(diagnostics)


_PROGRAM_MODE = 0o755


def file_count(fabric: Fabric, renderer: HostRenderer) -> int:
    """Return the number of files of the nodes of ``fabric``."""
    files_of_kind: dict[tuple[str, str], int] = {}
    total = 0
    for host in fabric.hosts:
        # Rendering the files of every node only to count them would take as long as writing them.
        kind = (host.kind, host.nic_model)
        if kind not in files_of_kind:
            files_of_kind[kind] = len(renderer.files(host))
        total += files_of_kind[kind]
    return total


def write_hosts(renderer: HostRenderer, hosts: Sequence[Host], folder: Path) -> None:
    """Write the files of ``hosts`` below ``folder``, which exists."""
    # Nodes of one kind get the same mapping object of shared files. By its identity: the path of each file written.
    paths_by_mapping: dict[int, dict[str, str]] = {}
    for host in hosts:
        host_folder = f"{folder}/{host.name}"
        os.mkdir(host_folder)
        os.mkdir(f"{host_folder}/networkd")
        for name, content in renderer.own(host).items():
            _write(f"{host_folder}/{name}", content)
        shared = renderer.shared(host)
        written_paths = paths_by_mapping.setdefault(id(shared), {})
        _link_shared(shared, written_paths, host_folder)


def _link_shared(shared: Mapping[str, bytes], written_paths: dict[str, str], host_folder: str) -> None:
    """Link the shared files of a node to those already written; write and record those that cannot be linked."""
    for name, content in shared.items():
        path = f"{host_folder}/{name}"
        try:
            os.link(written_paths[name], path)
        except (KeyError, OSError):
            # The first node of its kind, a file system without links, or a file that has as many as it can have.
            _write(path, content)
            if name in PROGRAMS:
                os.chmod(path, _PROGRAM_MODE)
            written_paths[name] = path


def _write(path: str, content: bytes) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(content)
