"""What programs and editors look up: JSON Schemas, codes of diagnostics, and the models of the catalog."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from railweave.acceptance.limits.topics import LimitTopic, limit_topics
from railweave.catalog.load import Catalog, load_catalog, use_own_models
from railweave.catalog.model import SwitchModel
from railweave.checks.capability import CatalogCapability, SwitchCapability, capability
from railweave.checks.registry import Rule, all_rules
from railweave.errors import UsageError
from railweave.fabric.policy import Policies
from railweave.health import watch_rules as watching
from railweave.health.watch_rules import WatchRule
from railweave.intent.load import load_intent_text
from railweave.intent.schema import json_schema
from railweave.report import documents
from railweave.wording import command_line, suggestion


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of ``intent``, or of what a command prints with ``--json``, such as ``rollout list``.

    Raises UsageError that names the nearest command for an unknown one.
    """
    use_own_models()
    if name == "intent":
        return json_schema()
    return documents.named_schema(name)


def schemas() -> Mapping[str, str]:
    """Return what each schema describes, by its name."""
    return documents.titles()


def codes() -> Mapping[str, str]:
    """Return the rule of every code of a diagnostic."""
    return {code: rule.title for code, rule in all_rules().items()}


def explain_rule(code: str) -> Rule:
    """Return the rule of a code: what holds, why, and an example of what breaks it; raises UsageError for no code."""
    if code not in all_rules():
        raise UsageError(f"no rule has the code {code!r}; `railweave codes` lists them")
    return all_rules()[code]


def watch_rules() -> Mapping[str, WatchRule]:
    """Return the rules that watch a running fabric by their codes: those of alerts (AL-1) and of `health` (F-1)."""
    return watching.watch_rules()


def explain_limits(topic: str = "") -> tuple[LimitTopic, ...]:
    """Return how limits of acceptance tests are computed, all of them or one by its name.

    Raises UsageError that names the nearest topic for an unknown one.
    """
    topics = limit_topics()
    if not topic:
        return topics
    for limit_topic in topics:
        if limit_topic.name == topic:
            return (limit_topic,)
    names = [limit_topic.name for limit_topic in topics]
    hint = f"{suggestion(topic, names)}`{command_line('explain', 'acceptance')}` lists them"
    raise UsageError(f"no limit has the topic {topic!r}; {hint}")


_DEFAULTS = """
fabric: defaults
workload: {kind: pretraining}
nodes: [{name: gpu, count: 1, gpus: 1, nics: {count: 1, speed: 400G}}]
topology: {leaf: {ports: 64, speed: 400G}, spine: {ports: 64, speed: 400G}}
"""
"""An intent of which only the defaults count: traffic classes, MTU, release."""


def models(model: str = "") -> CatalogCapability:
    """Return what every switch model and NIC of the catalog and of the project's ``catalog/`` can do, or one by its id.

    What is lossless follows from the default traffic classes. Raises UsageError that names the nearest id.
    """
    catalog = _catalog_with(model)
    switches = [catalog.switch(switch_id) for switch_id in catalog.switch_ids() if model in {"", switch_id}]
    nics = [catalog.nic(nic_id) for nic_id in catalog.nic_ids() if model in {"", nic_id}]
    slots = {slot_id: catalog.pcie_slot(slot_id) for slot_id in catalog.pcie_ids()}
    return CatalogCapability(tuple(map(_capability, switches)), tuple(nics), slots)


@cache
def _capability(model: SwitchModel) -> SwitchCapability:
    return capability(model, _default_policies())


@cache
def _default_policies() -> Policies:
    return load_intent_text(_DEFAULTS, "defaults").policies


def model_file(model: str) -> str:
    """Return the JSON file of a switch model or NIC, to make one of your own from; raises UsageError as `models`."""
    return _catalog_with(model).file_text(model)


def _catalog_with(model: str) -> Catalog:
    """Return the catalog. If ``model`` is named and not in it, raises UsageError with the nearest id."""
    use_own_models()
    catalog = load_catalog()
    ids = (*catalog.switch_ids(), *catalog.nic_ids())
    if model and model not in ids:
        guess = suggestion(model, ids)
        raise UsageError(f"the catalog has no model {model!r}: {guess}`railweave models` lists all")
    return catalog
