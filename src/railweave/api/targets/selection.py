"""The fabric that a command reads on a target: that of the intent, or of a phase of a change."""

from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric


def live_phase(
    project: Project, target: str, base: str, number: int | None, *, done: bool = False, partial: bool = False
) -> LiveFabric:
    """Return the fabric of the intent, or with ``base`` or ``number`` that of a phase of the change from ``base``.

    ``number`` is by default that of the next phase, with ``done`` that of the last one that all switches have.
    ``partial`` is as for `live_fabric`, and only for the fabric of the intent.
    """
    if not base and number is None:
        return live_fabric(project, target, partial=partial)
    # Imported late: without phases no second revision is read, and no nodes.
    from railweave.api.targets.phases import selected_phase

    return selected_phase(project, target, base, number, done=done)
