"""Names of switches as a person types them."""

from collections.abc import Iterable

from railweave.errors import UsageError
from railweave.fabric.model import Fabric
from railweave.wording import compact, suggestion


def known_switches(fabric: Fabric, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once; raises UsageError that lists the switches where one is none of them."""
    asked = tuple(dict.fromkeys(names))
    if unknown := [name for name in asked if name not in fabric.switch_of]:
        known = tuple(fabric.switch_of)
        raise UsageError(
            f"{fabric.name} has no switch {', '.join(unknown)}: {suggestion(unknown[0], known)}it has {compact(known)}"
        )
    return asked
