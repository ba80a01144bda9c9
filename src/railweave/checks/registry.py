"""The registry of rules: what each code stands for, why, what breaks it, and the checks that look for it.

A rule with checks is declared in a file of its own beside them, the codes of all other diagnostics in ``codes.toml``;
a code never gets a second meaning. A check is registered by what it looks at, and yields a ``Breach`` for everything
that breaks the rule: an intent, the links of a fabric, the tables of a switch, or what was read of a GPU node.
"""

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pkgutil import walk_packages

from railweave.checks.subjects import LinkEnds, NodeRead, SwitchRead
from railweave.diagnostics import Diagnostic, Severity, Where
from railweave.intent.model import Intent
from railweave.names import natural_key
from railweave.sonic.port_settings import PortSettings


@dataclass(frozen=True, slots=True)
class Breach:
    """What breaks a rule, and the fix. ``path`` is the place in the intent, empty where the check looks at devices."""

    path: str
    message: str
    fix: str
    severity: Severity = Severity.ERROR
    devices: tuple[str, ...] = ()

    def diagnostic(self, code: str, where: Where) -> Diagnostic:
        """Return it as a diagnostic of a rule."""
        return Diagnostic(code, self.severity, self.message, where, self.devices, self.fix)


@dataclass(frozen=True, slots=True)
class LinkBreach:
    """What breaks a rule at one end of a link; those of one device and ``kind`` are reported once."""

    end: PortSettings
    kind: str
    message: str
    fix: str


Breaches = Iterator[Breach]
LinkBreaches = Iterator[LinkBreach]

IntentCheck = Callable[[Intent], Breaches]
LinkCheck = Callable[[LinkEnds], LinkBreaches]
SwitchCheck = Callable[[SwitchRead], Breaches]
NodeCheck = Callable[[NodeRead], Breaches]

INTENT_CHECKS: list[tuple[str, IntentCheck]] = []
LINK_CHECKS: list[tuple[str, LinkCheck]] = []
SWITCH_CHECKS: list[tuple[str, SwitchCheck]] = []
NODE_CHECKS: list[tuple[str, NodeCheck]] = []
"""Codes of rules with their checks, by what these look at."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its code, what holds where it is kept, why, an example of what breaks it, and the usual fix."""

    code: str
    title: str
    explanation: str
    example: str
    fix: str

    def on_intent(self, check: IntentCheck) -> IntentCheck:
        """Register a check of the intent alone."""
        INTENT_CHECKS.append((self.code, check))
        return check

    def on_link(self, check: LinkCheck) -> LinkCheck:
        """Register a check of the two ends of a link, as they are set."""
        LINK_CHECKS.append((self.code, check))
        return check

    def on_switch(self, check: SwitchCheck) -> SwitchCheck:
        """Register a check of the tables of one switch."""
        SWITCH_CHECKS.append((self.code, check))
        return check

    def on_node(self, check: NodeCheck) -> NodeCheck:
        """Register a check of what was read of one GPU node."""
        NODE_CHECKS.append((self.code, check))
        return check


_RULES: dict[str, Rule] = {}


def rule(code: str, title: str, explanation: str | None, example: str = "", *, fix: str = "") -> Rule:
    """Declare a rule; a code is declared once."""
    if code in _RULES:
        raise ValueError(f"{code} stands for `{_RULES[code].title}` already")
    _RULES[code] = Rule(code, title, " ".join((explanation or "").split()), example, fix)
    return _RULES[code]


@cache
def all_rules() -> dict[str, Rule]:
    """Return every rule by its code."""
    package = import_module("railweave.checks")
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    for code, text in tomllib.loads(files("railweave.checks").joinpath("codes.toml").read_text("utf-8")).items():
        rule(code, **text)
    return {code: _RULES[code] for code in sorted(_RULES, key=natural_key)}
