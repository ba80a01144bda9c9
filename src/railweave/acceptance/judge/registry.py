"""The registry of rules: each code with what it requires, the counters that it needs, and the function that looks."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom
from railweave.acceptance.model import RoundKind
from railweave.wording import natural_key

Look = Callable[[Case], Iterator[Symptom]]


class JudgeRule(NamedTuple):
    """A rule of the judge (docs/reference/acceptance-rules.md)."""

    code: str
    title: str
    # The rounds that it looks at; without any of them in the plan it is not planned.
    kinds: frozenset[RoundKind]
    # Counters without which it cannot be judged, although every device has them: it was not run.
    needs: frozenset[CounterMeaning]
    # Counters that not every release and chip has: without them it cannot be judged there.
    supported: frozenset[CounterMeaning]
    # It judges switches by what they count themselves: what NICs count does not help.
    by_switches: bool
    look: Look


_RULES: dict[str, JudgeRule] = {}


def judge_rule(
    code: str,
    title: str,
    *,
    kinds: frozenset[RoundKind] = frozenset(RoundKind),
    needs: frozenset[CounterMeaning] = frozenset(),
    supported: frozenset[CounterMeaning] = frozenset(),
    by_switches: bool = False,
) -> Callable[[Look], Look]:
    """Return a decorator that registers a function as a rule; the fields are those of `JudgeRule`."""

    def register(look: Look) -> Look:
        _RULES[code] = JudgeRule(
            code=code, title=title, kinds=kinds, needs=needs, supported=supported, by_switches=by_switches, look=look
        )
        return look

    return register


@cache
def judge_rules() -> tuple[JudgeRule, ...]:
    """Return all rules, sorted by their codes."""
    package = import_module("railweave.acceptance.judge.rules")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return tuple(_RULES[code] for code in sorted(_RULES, key=natural_key))
