"""Switches without published data to compute buffers from: refused for lossless classes, with the fixes.

A HWSKU may ship no pools, no profiles and no headroom; the chip then runs on its driver's defaults, which nobody has
published. A lossless class on such a switch would be a guess, unless the operator states the rows.
"""

from collections.abc import Callable

from railweave.catalog.load import load_catalog
from railweave.catalog.model import Hwsku
from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.fabric.devices import Tier
from railweave.fabric.model import Fabric
from railweave.fabric.panel import Panel
from railweave.fabric.policy import Policies
from railweave.units import format_speed
from railweave.wording import listed

# The ASIC of the virtual switch. Its buffer is nominal, so thresholds that do not suit it must not prevent a rehearsal.
VIRTUAL = "SONiC VS"


def unproven(
    fabric: Fabric, panel: Panel, tier: Tier, devices: tuple[str, ...], where: Callable[[str], Where]
) -> Diagnostic:
    """Return H-headroom for the switches of a panel without buffer facts.

    It is an error that names what is missing, or a warning if the intent's overrides state the priority groups of all
    ``devices``.
    """
    # The checks of links tell whether the overrides cover all ports.
    names = lossless_names(fabric.policies)
    if all(_states_groups(fabric, name) for name in devices):
        return warning(
            "H-headroom",
            f"the headroom of {names} on {panel.model} is what the overrides state: {panel.hwsku} ships none to compare"
            " it with",
            where("overrides"),
            fix="measure drops and pauses under load",
            devices=devices,
        )
    path = f"{tier_path(tier)}.model"
    if fabric.policies.sonic.buffer_model is not None:
        path = "sonic.buffer_model"
    return error(
        "H-headroom",
        f"{names} cannot be lossless on {panel.model}: no headroom can be computed for {panel.hwsku}, whose SONiC ships"
        f" {missing_buffers(panel)}",
        where(path),
        fix=f"{_fix(panel)}; or write the vendor's BUFFER_POOL, BUFFER_PROFILE and BUFFER_PG"
        f" rows{_example_rows_text(panel)} under overrides.{tier.name}; or make no class lossless",
        devices=devices,
    )


def tier_path(tier: Tier) -> str:
    """Return the intent path of a tier, or of the leaves that an entry of nodes has for itself."""
    return tier.path or f"topology.{tier.name.replace('-', '_')}"


def lossless_names(policies: Policies) -> str:
    """Return the names of the lossless classes."""
    return " and ".join(traffic_class.name for traffic_class in policies.classes if traffic_class.lossless)


def _states_groups(fabric: Fabric, name: str) -> bool:
    """Tell whether the overrides state priority groups of a switch."""
    # Imported late: most fabrics have buffer facts, and SONiC's tables take long to import.
    from railweave.sonic.ownership import PRIORITY_GROUPS
    from railweave.sonic.render.overrides import override_rows

    rows = override_rows(fabric.policies.overrides, fabric.switch_of[name])
    return any(row.table == PRIORITY_GROUPS for row in rows)


def missing_buffers(panel: Panel) -> str:
    """Return the buffer settings that a panel's HWSKU does not ship, with its place in SONiC's repository."""
    hwsku = _hwsku(panel)
    missing = []
    if hwsku is None or not hwsku.buffer_pools:
        missing.append("no pools")
    missing.append(f"no profiles for lossless queues{_other_profiles_text(hwsku)}")
    if hwsku is None or not hwsku.pg_profiles:
        missing.append("no headroom for any speed and cable")
    text = listed(missing)
    if hwsku is not None:
        text += f" ({hwsku.source})"
    return text


def _hwsku(panel: Panel) -> Hwsku | None:
    """Return the HWSKU of a panel in the catalog."""
    model = load_catalog().find_switch(panel.model)
    if model is None:
        return None
    return model.hwsku(panel.hwsku)


def _other_profiles_text(hwsku: Hwsku | None) -> str:
    """Return words about files that have profiles for lossless queues but cannot be taken as they are.

    Empty if the HWSKU has none.
    """
    if hwsku is None or not hwsku.lossless_sets:
        return ""
    return f" that can be taken as they are (some are in {listed(hwsku.lossless_sets)})"


def _example_rows_text(panel: Panel) -> str:
    """Return words about a file of a panel's HWSKU whose rows an operator may state, empty if there is none."""
    hwsku = _hwsku(panel)
    if hwsku is None or not hwsku.lossless_sets:
        return ""
    return f", such as those of {hwsku.lossless_sets[0]},"


def _fix(panel: Panel) -> str:
    """Return the fix: the speed at which the same hardware has buffer facts, or else another model."""
    model = load_catalog().find_switch(panel.model)
    hwskus = model.hwskus if model is not None else ()
    for hwsku in hwskus:
        if hwsku.buffers is not None and hwsku.speed_gbps is not None:
            return f"run its ports at {format_speed(hwsku.speed_gbps)}, for which {hwsku.name} ships buffers"
    return "use a model that ships buffers (`railweave models` lists them)"
