"""Overrides are for all switches of a role, or for one switch by its name; written for anything else, they reach
nobody."""

import re

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.intent.model import Intent
from railweave.intent.paths import path_text
from railweave.wording import suggestion

_ROLES = ("leaf", "spine", "super-spine")

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
        device = re.fullmatch(rf"{re.escape(intent.fabric)}-(leaf|spine|superspine)([1-9][0-9]{{0,8}})", scope)
        path = path_text(("overrides", scope))
        if device is None and scope not in _ROLES:
            names = [*_ROLES, f"{intent.fabric}-leaf1", f"{intent.fabric}-spine1"]
            message = f"overrides for `{scope}`, which is not a role or device of fabric `{intent.fabric}`"
            choices = f"write leaf, spine or a device's name, like {intent.fabric}-leaf1"
            yield Breach(path, message, f"{suggestion(scope, names)}{choices}")
        elif device is not None:
            count = _numbered(intent, device[1])
            if count is not None and int(device[2]) > count:
                message = f"overrides for `{scope}`, but there are {count} switches of that role"
                fix = "take them out, or keep them for a fabric that has grown"
                yield Breach(path, message, fix, Severity.WARNING)


def _numbered(intent: Intent, role: str) -> int | None:
    """Return how many switches of a role have the numbers from 1 on, None if the intent does not say."""
    topology = intent.topology
    count = topology.leaf.count
    if role != "leaf":
        # With pods the numbers of spines and super-spines have gaps.
        if role != "spine" or topology.asks_for_pods:
            return None
        count = topology.spine.count
    if count is None:
        return None
    return count * topology.planes
