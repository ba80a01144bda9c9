"""Overrides are for all switches of a role, or for one switch by its name; written for anything else, they reach
nobody."""

import re

from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent
from railweave.intent.paths import path_text
from railweave.wording import compact, suggestion

_ROLES = ("leaf", "spine", "super-spine")

RULE = rule(
    "RW110",
    "overrides name a role or device of this fabric",
    __doc__,
    "overrides: {leafs: {SYSLOG_SERVER: {10.9.9.9: {}}}, pod1-leaf9: {SYSLOG_SERVER: {10.9.9.9: {}}}}",
)


@RULE.on_intent
def check_scopes(intent: Intent) -> Breaches:
    """Yield a breach for each scope of overrides that is neither a role nor the name of a possible switch."""
    for scope in intent.policies.overrides.rows:
        if scope in _ROLES or _device_name(intent.fabric).fullmatch(scope):
            continue
        names = [*_ROLES, f"{intent.fabric}-leaf1", f"{intent.fabric}-spine1"]
        message = f"overrides for `{scope}`, which is not a role or device of fabric `{intent.fabric}`"
        choices = f"write leaf, spine or a device's name, like {intent.fabric}-leaf1"
        yield Breach(_path(scope), message, f"{suggestion(scope, names)}{choices}")


@RULE.on_fabric
def check_devices(fabric: Fabric) -> Breaches:
    """Yield a breach for each scope that names a switch which the fabric does not have."""
    for scope in fabric.policies.overrides.rows:
        device = _device_name(fabric.name).fullmatch(scope)
        if device is None or scope in fabric.switch_of:
            continue
        names = [name for name in fabric.switch_of if name.startswith(f"{fabric.name}-{device['role']}")]
        message = f"overrides for `{scope}`, which the fabric does not have"
        fix = "take them out until the fabric has grown"
        if names:
            fix = f"write a device of it ({compact(names)}), or {fix}"
        yield Breach(_path(scope), message, fix)


def _device_name(fabric: str) -> re.Pattern[str]:
    """Return the pattern of the names that switches of a fabric may have."""
    return re.compile(rf"{re.escape(fabric)}-(?P<role>leaf|spine|superspine)[1-9][0-9]{{0,8}}")


def _path(scope: str) -> str:
    return path_text(("overrides", scope))
