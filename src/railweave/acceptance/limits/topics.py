"""What ``railweave explain acceptance`` says: the rule of each limit, as the module that computes it states it."""

from collections.abc import Mapping
from types import ModuleType
from typing import NamedTuple

from railweave.acceptance.limits import basis, collectives, collisions, incast, isolated, latency, loaded, significance

_MODULES: Mapping[str, ModuleType] = {
    "payload": basis,
    "isolated": isolated,
    "loaded": loaded,
    "counts": significance,
    "incast": incast,
    "latency": latency,
    "collectives": collectives,
    "collisions": collisions,
}


class LimitTopic(NamedTuple):
    """How a limit is computed: a sentence, then formulas and reasons."""

    name: str
    title: str
    explanation: str


def limit_topics() -> tuple[LimitTopic, ...]:
    """Return how each limit is computed."""
    topics = []
    for name, module in _MODULES.items():
        title, _, explanation = (module.__doc__ or "").partition("\n\n")
        topics.append(LimitTopic(name, title, explanation.strip("\n")))
    return tuple(topics)
