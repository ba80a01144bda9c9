"""The fabric that a command reads on a target: that of the intent, or of a phase of a change."""

from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric


def live_phase(
    project: Project, target: str, base: str, number: int | None, *, done: bool = False, partial: bool = False
) -> LiveFabric:
    """Return the fabric of the intent without ``base``, with ``partial`` as `live_fabric`; else of a phase.

    The default phase is the next one, with ``done`` the last one that all switches have.
    """
    if not base and number is None:
        return live_fabric(project, target, partial=partial)
    # Imported late: without phases no second revision is read, and no nodes.
    from railweave.api.targets.phases import selected_phase

    return selected_phase(project, target, base, number, done=done)
