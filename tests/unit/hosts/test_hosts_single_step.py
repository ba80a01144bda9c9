"""`hosts apply` without a phase: a marking or an MTU that nodes share does not change node by node unasked."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from railweave.api import hosts
from railweave.api.operator import Operator
from railweave.api.project import Project
from railweave.errors import RefusedError
from railweave.hosts.outcome import ChangeKind, HostChange, HostResult, HostsRun, HostState

REMARKED = (
    HostChange(ChangeKind.FILE, "/etc/railweave/rails.json", "content", "differs", "as intended"),
    HostChange(ChangeKind.SETTING, "rail0", "dscp to priority", "26:3", "24:4"),
)


MANAGED = SimpleNamespace(fabric=SimpleNamespace(part="", policies=SimpleNamespace(hosts=SimpleNamespace(manage=True))))


@dataclass
class Nodes:
    """Nodes of a live target whose run finds or makes ``changes``."""

    changes: tuple[HostChange, ...]
    is_rollback: bool = False
    interrupted: bool = False
    applied: list[bool] = field(default_factory=list)
    designed: Any = field(default_factory=lambda: MANAGED)

    def plan(self) -> HostsRun:
        found = HostResult("gpu1", HostState.CHANGED, self.changes, interrupted=self.interrupted)
        return HostsRun("pod", "live", False, (found,))

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def apply(self) -> HostsRun:
        self.applied.append(True)
        return self.plan()


def apply_phase(*given: Any, **options: Any) -> HostsRun:
    nodes = hosts.agreed_nodes(*given, **options, values=cast(Any, object()))
    assert nodes is not None
    return nodes.apply()


@pytest.fixture
def apply(monkeypatch: pytest.MonkeyPatch) -> Any:
    def made(
        changes: tuple[HostChange, ...],
        *,
        command: Any = hosts.apply,
        allowed: bool = False,
        interrupted: bool = False,
        **options: Any,
    ) -> Nodes:
        nodes = Nodes(changes, interrupted=interrupted)
        monkeypatch.setattr(hosts, "live_nodes", lambda *_: nodes)
        monkeypatch.setattr(hosts, "find_target", lambda name: name)
        target = SimpleNamespace(nodes_follow=allowed)
        monkeypatch.setattr(hosts, "load_target", lambda file: target)
        command(Project(Path("pod.yml"), Operator()), "live", **options)
        return nodes

    return made


def test_another_marking_of_live_nodes_is_refused_in_one_step(apply: Any) -> None:
    with pytest.raises(RefusedError) as refused:
        apply(REMARKED)
    (found,) = refused.value.diagnostics
    assert (found.code, found.devices) == ("RW808", ("gpu1",))
    assert found.message.startswith("dscp to priority would change on gpu1")
    assert "hosts apply --from REV --phase N" in found.fix


def test_a_rollback_of_another_marking_is_refused_but_where_its_change_did_not_end(apply: Any) -> None:
    with pytest.raises(RefusedError) as refused:
        apply(REMARKED, command=hosts.rollback)
    (found,) = refused.value.diagnostics
    assert (found.code, found.devices) == ("RW808", ("gpu1",))
    assert found.fix.startswith("write the old values into the intent and change switches and nodes in phases")
    assert found.fix.endswith("roll back with --single-step")
    assert apply(REMARKED, command=hosts.rollback, interrupted=True).applied
    assert apply(REMARKED, command=hosts.rollback, single_step=True).applied
    assert apply(REMARKED, command=hosts.rollback, allowed=True).applied
    assert apply(REMARKED[:1], command=hosts.rollback).applied


def test_an_apply_is_refused_although_an_earlier_change_did_not_end(apply: Any) -> None:
    with pytest.raises(RefusedError):
        apply(REMARKED, interrupted=True)


def test_consent_a_phase_or_a_rehearsal_allows_it(apply: Any) -> None:
    assert apply(REMARKED, single_step=True).applied
    assert apply(REMARKED, command=apply_phase).applied
    assert apply(REMARKED, allowed=True).applied


def test_what_no_other_node_relies_on_needs_no_consent(apply: Any) -> None:
    assert apply(REMARKED[:1]).applied
    assert apply(REMARKED[1:]).applied
