"""The templates in the folder of a SKU, as they are found by name and rendered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonic_sim.configdb import to_json
from sonic_sim.sku.buffers import buffer_tables
from sonic_sim.sku.data import sku_folder
from sonic_sim.sku.ports import check_use
from sonic_sim.sku.qos import qos_tables

_NAMES = ("buffers.json.j2", "buffers_dynamic.json.j2", "qos.json.j2")


@dataclass(frozen=True, slots=True)
class Template:
    """A template in the folder of a SKU."""

    name: str
    sku: Mapping[str, Any]

    def text(self, data: Mapping[str, Any]) -> str:
        """Render it. Raises ProgramError as Jinja does, MissingTemplateError, NotSimulatedError."""
        check_use(data)
        if self.name == "qos.json.j2":
            return to_json(qos_tables(data, self.sku))
        dynamic = self.name == "buffers_dynamic.json.j2"
        ports, tables = buffer_tables(data, self.sku, dynamic=dynamic)
        text = to_json(tables)
        if dynamic or ports.active or ports.inactive:
            return text
        # The template writes the comma before the rows of ports also where there are none: no JSON.
        return text[: -len("\n}")] + ",\n}"


def find_template(platform: str, hwsku: str, name: str) -> Template | None:
    """Return a template in the folder of a SKU, if there is one. Raises NotSimulatedError."""
    sku = sku_folder(platform, hwsku) if name in _NAMES else None
    if sku is None or ("dynamic" in name and "dynamic" not in sku):
        return None
    return Template(name, sku)
