"""DEVICE_METADATA: who the switch is and who writes its routing configuration.

``split-unified`` makes the bgp container load our FRR file and render none of its own. ``suppress-fib-pending`` is
left out on purpose: models before 202411 do not know the field, and turning it on needs ``synchronous_mode``, which
is the device's own. (BGP's line of that name waits for fpmsyncd, which without the field answers at once.)
"""

from collections.abc import Mapping

from railweave.fabric.devices import Tier
from railweave.fabric.panel import Panel
from railweave.fabric.policy import BufferModel
from railweave.sonic.rows import Fields, Row

SONIC_TYPE: Mapping[str, str] = {"leaf": "ToRRouter", "spine": "LeafRouter", "super-spine": "SpineRouter"}
"""SONiC's word for a tier by its name. It seeds the ECMP hash: 0, 10 and 25 (``hashing.hash_seed``)."""

_REASON = (
    "Identity (fabric name, role and number: hostname, type, bgp_asn from addressing.asn; hwsku from the model's "
    "catalog entry), the buffer model (sonic.buffer_model, else the platform's) and the rule that the FRR file is "
    "ours: split-unified, no mgmt framework, no default watchdog."
)


def shared_settings(panel: Panel, tier: Tier, buffer_model: BufferModel | None) -> Fields:
    """Return our fields of ``DEVICE_METADATA|localhost`` that switches share.

    Without a plan of the buffer the device keeps its own buffer model.
    """
    settings = {
        "default_bgp_status": "up",
        # PFC_WD is written by us; SONiC's own default would overwrite its times at boot.
        "default_pfcwd_status": "disable",
        "docker_routing_config_mode": "split-unified",
        "frr_mgmt_framework_config": "false",
        "hwsku": panel.hwsku,
        "type": SONIC_TYPE[tier.name],
    }
    if buffer_model is not None:
        settings["buffer_model"] = buffer_model.value
    return settings


def metadata_row(name: str, asn: int, shared: Fields) -> Row:
    """Return our fields of ``DEVICE_METADATA|localhost``: those of a switch, and those that it shares with others."""
    fields = {"bgp_asn": str(asn), "hostname": name, **shared}
    return Row("DEVICE_METADATA", "localhost", dict(sorted(fields.items())), _REASON)
