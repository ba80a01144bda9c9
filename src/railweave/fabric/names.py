"""Names of switches as a person types them."""

from collections.abc import Iterable

from railweave.errors import UsageError
from railweave.fabric.model import Fabric
from railweave.wording import compact, suggestion


def known_switches(fabric: Fabric, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once; raises UsageError that lists the switches if one is not among them."""
    requested = tuple(dict.fromkeys(names))
    unknown = [name for name in requested if name not in fabric.switch_of]
    if unknown:
        switches = tuple(fabric.switch_of)
        hint = suggestion(unknown[0], switches)
        raise UsageError(f"{fabric.name} has no switch {', '.join(unknown)}: {hint}it has {compact(switches)}")
    return requested
