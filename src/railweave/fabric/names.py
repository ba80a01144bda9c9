"""Names of switches as a person types them."""

from collections.abc import Iterable

from railweave.errors import UsageError
from railweave.fabric.model import Fabric
from railweave.wording import compact, suggestion


def known_switches(fabric: Fabric, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once; raises UsageError with the fabric's switches for an unknown name."""
    unique = tuple(dict.fromkeys(names))
    unknown = [name for name in unique if name not in fabric.switch_of]
    if unknown:
        switches = tuple(fabric.switch_of)
        guess = suggestion(unknown[0], switches)
        raise UsageError(f"{fabric.name} has no switch {', '.join(unknown)}: {guess}it has {compact(switches)}")
    return unique
