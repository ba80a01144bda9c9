"""The folders of SKUs, as far as they add to the templates of QoS and buffers (``data.json``).

A SKU names its buffers by topology (``traditional`` and ``dynamic``) as the number of a layout, a layout names the rows
of a table as the number of a list of rows.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sonic_sim.shell.programs import ProgramError

Tables = dict[str, Any]
Row = Mapping[str, str]

_VIRTUAL = "x86_64-kvm_x86_64-r0"


class NotSimulatedError(Exception):
    """A SKU that the simulator does not have."""


class MissingTemplateError(Exception):
    """A template includes one that the folder of the SKU does not have; the text is its name."""


@functools.cache
def _document() -> Mapping[str, Any]:
    return dict(json.loads(Path(__file__).with_suffix(".json").read_bytes()))


def sku_folder(platform: str, hwsku: str) -> Mapping[str, Any] | None:
    """Return the folder of a SKU, if there is one. Raises NotSimulatedError."""
    platforms: Mapping[str, Mapping[str, Any]] = _document()["platforms"]
    folders = [platforms.get(platform, {})]
    if platform == _VIRTUAL:
        # The package of the folders puts those of all SKUs into that of the virtual switch (src/sonic-device-data).
        folders += platforms.values()
    for skus in folders:
        if hwsku in skus:
            return dict(skus[hwsku])
    if hwsku in _document()["not_simulated"]:
        raise NotSimulatedError(f"the QoS and buffer templates of {hwsku} are not simulated")
    return None


def layout_of(number: int) -> Mapping[str, Any]:
    """Return a layout of buffers."""
    return dict(_document()["layouts"][number])


def rows_of(tables: Mapping[str, int | None]) -> dict[str, Any]:
    """Return tables with their rows, which the data list by number."""
    rows_by_number = _document()["rows"]
    rows: dict[str, Any] = dict.fromkeys(tables)
    for table, number in tables.items():
        if number is not None:
            rows[table] = rows_by_number[number]
    return rows


def undefined(text: str) -> ProgramError:
    """Return Jinja's error about an undefined variable."""
    return ProgramError(f"jinja2.exceptions.UndefinedError: {text}")
