"""Overrides are for all switches of a role, or for one switch by its name; written for anything else, they reach
nobody."""

import re

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.intent.model import Intent
from railweave.intent.paths import path_text
from railweave.wording import suggestion

_ROLES = ("leaf", "spine")

RULE = rule(
    "RW110",
    "overrides name a role or device of this fabric",
    __doc__,
    "overrides: {leafs: {SYSLOG_SERVER: {10.9.9.9: {}}}}",
)


@RULE.on_intent
def scopes(intent: Intent) -> Breaches:
    """Look whom overrides are for."""
    for scope in intent.policies.overrides.rows:
        device = re.fullmatch(rf"{re.escape(intent.fabric)}-(leaf|spine)([1-9][0-9]{{0,8}})", scope)
        path = path_text(("overrides", scope))
        if device is None and scope not in _ROLES:
            names = [*_ROLES, f"{intent.fabric}-leaf1", f"{intent.fabric}-spine1"]
            message = f"overrides for `{scope}`, which is no role and no device of fabric `{intent.fabric}`"
            known = f"write leaf, spine or a device's name, like {intent.fabric}-leaf1"
            yield Breach(path, message, f"{suggestion(scope, names)}{known}")
        elif device is not None:
            tier = intent.topology.leaf if device[1] == "leaf" else intent.topology.spine
            count = None if tier.count is None else tier.count * intent.topology.planes
            if count is not None and int(device[2]) > count:
                message = f"overrides for `{scope}`, but there are {count} switches of that role"
                fix = "take them out, or keep them for a fabric that has grown"
                yield Breach(path, message, fix, Severity.WARNING)
