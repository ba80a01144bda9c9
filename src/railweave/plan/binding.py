"""A reviewed plan against the fabric as it stands now: whether it may still be carried out.

A plan file binds three things: the intent, the devices' running configuration and the changes. A deployment reads the
devices anew and goes on only where all three still hold.
"""

from railweave.diagnostics import Diagnostic, Where, error
from railweave.plan.document import change_json
from railweave.plan.model import DeviceState, Plan
from railweave.wording import counted

_AGAIN = "make the plan again, review it, and deploy that"


def check_binding(reviewed: Plan, fresh: Plan, file: str) -> tuple[Diagnostic, ...]:
    """Return why the ``reviewed`` plan of ``file`` can not be carried out now; nothing where it can.

    ``fresh`` is the plan of the same intent and target made a moment ago.
    """
    where = Where(file, 1, 1)
    found: list[Diagnostic] = []
    for name, planned, now in (
        ("fabric", reviewed.fabric, fresh.fabric),
        ("target", reviewed.target, fresh.target),
        ("intent", reviewed.intent_sha256, fresh.intent_sha256),
    ):
        if planned != now:
            found.append(error("RW502", f"this plan is of the {name} {planned}, not {now}", where, fix=_AGAIN))
    if reviewed.policy != fresh.policy:
        message = f"this plan is of another rollout policy ({reviewed.policy}) than the target's ({fresh.policy})"
        found.append(error("RW502", message, where, fix=_AGAIN))
    if found:
        return tuple(found)
    moved = _moved(reviewed, fresh)
    if moved:
        found.append(
            error(
                "RW503",
                f"{counted(len(moved), 'device')} changed since this plan was made: {', '.join(moved)}",
                where,
                devices=moved,
                fix=_AGAIN,
            )
        )
        return tuple(found)
    differing = _differing(reviewed, fresh)
    if differing:
        found.append(
            error(
                "RW504",
                f"this version of railweave would make other changes on {', '.join(differing)}",
                where,
                devices=differing,
                fix=_AGAIN,
            )
        )
    return tuple(found)


def _moved(reviewed: Plan, fresh: Plan) -> tuple[str, ...]:
    """Return the devices whose running configuration is another than when the plan was made.

    A device that can not be reached now is left to the rule for unreachable devices; one that could not be reached
    then and can now was never reviewed.
    """
    names = dict.fromkeys((*reviewed.devices, *fresh.devices))
    return tuple(name for name in names if _has_moved(reviewed, fresh, name))


def _has_moved(reviewed: Plan, fresh: Plan, name: str) -> bool:
    then, now = reviewed.devices.get(name), fresh.devices.get(name)
    if then is None or now is None:
        return True
    if now.state is DeviceState.UNREACHABLE:
        return False
    return then.state is DeviceState.UNREACHABLE or then.running_sha256 != now.running_sha256


def _differing(reviewed: Plan, fresh: Plan) -> tuple[str, ...]:
    """Return the devices for which the same start leads to other changes: another version of templates or rules."""
    planned, now = reviewed.deltas, fresh.deltas
    return tuple(
        name
        for name, device in fresh.devices.items()
        if device.state is not DeviceState.UNREACHABLE
        and [change_json(name, one) for one in planned.get(name, ())]
        != [change_json(name, one) for one in now.get(name, ())]
    )
