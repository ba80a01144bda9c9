"""One device's configuration, asked for its reasons."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from railweave.errors import UsageError

if TYPE_CHECKING:
    from railweave.fabric.model import Fabric
    from railweave.sonic.render.explain import Explanation


def explanation(fabric: "Fabric", device: str, asked: str) -> "Explanation":
    """Return why the rows or lines asked for are on ``device``; raises UsageError that names the nearest device."""
    from railweave.api.project import project_templates
    from railweave.sonic.render.configure import configure
    from railweave.sonic.render.explain import explain_text

    switch = fabric.switch_of.get(device)
    if switch is None:
        near = get_close_matches(device, fabric.switch_of, n=3, cutoff=0.4)
        meant = f"; did you mean {', '.join(near)}?" if near else ""
        raise UsageError(f"no switch {device!r} in fabric {fabric.name}{meant}")
    return explain_text(configure(fabric, switch, project_templates()), asked)
