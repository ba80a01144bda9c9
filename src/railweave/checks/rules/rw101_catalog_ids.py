"""Everything that depends on hardware is read from the catalog: ports, lanes, buffers, reach, PCIe bandwidth."""

from collections.abc import Sequence

from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent
from railweave.intent.paths import child
from railweave.wording import suggestion

_MOST_LISTED = 12

RULE = rule(
    "RW101", "switch, NIC, media and PCIe ids are in the catalog", __doc__, "topology: {spine: {model: no-such-switch}}"
)


@RULE.on_intent
def check_ids(intent: Intent) -> Breaches:
    """Yield a breach for each id of the intent that the catalog does not have."""
    catalog = load_catalog()
    for path, tier in intent.topology.named_tiers():
        yield from _missing(f"{path}.model", "switch model", tier.model, catalog.switch_ids())
    media = [medium.id for medium in catalog.media()]
    for name, cable in intent.cabling.by_level.items():
        yield from _missing(f"cabling.{name}.media", "media", cable.media, [*media, "auto"])
    if intent.racks:
        for name in intent.racks.lengths_m:
            yield from _missing(child("racks.lengths_m", name), "media", name, media)
    for index, entry in enumerate(intent.nodes):
        path = f"nodes[{index}].nics"
        yield from _missing(f"{path}.model", "NIC model", entry.nics.model, catalog.nic_ids())
        yield from _missing(f"{path}.pcie", "PCIe slot", entry.nics.pcie, catalog.pcie_ids())
        if entry.leaf is not None:
            yield from _missing(f"nodes[{index}].leaf.model", "switch model", entry.leaf.model, catalog.switch_ids())


def _missing(path: str, what: str, name: str | None, ids: Sequence[str]) -> Breaches:
    """Yield a breach if the name at an intent path is not among the ids of the catalog; ``what`` says what it names."""
    if name is None or name in ids:
        return
    choices = "`railweave models` lists all that it has"
    if len(ids) <= _MOST_LISTED:
        choices = f"it has {', '.join(ids)}"
    yield Breach(path, f"{path}: the catalog has no {what} `{name}`", f"{suggestion(name, ids)}{choices}")
