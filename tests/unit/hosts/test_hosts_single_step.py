"""`hosts apply` without a phase: a marking or an MTU that nodes share does not change node by node unasked."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


MANAGED = SimpleNamespace(fabric=SimpleNamespace(policies=SimpleNamespace(hosts=SimpleNamespace(manage=True))))


@dataclass
class Nodes:
    """Nodes of a live target whose run finds or makes ``changes``."""

    changes: tuple[HostChange, ...]
    applied: list[bool] = field(default_factory=list)
    designed: Any = field(default_factory=lambda: MANAGED)

    def plan(self) -> HostsRun:
        return HostsRun("pod", "live", False, (HostResult("gpu1", HostState.CHANGED, self.changes),))

    def apply(self) -> HostsRun:
        self.applied.append(True)
        return self.plan()


@pytest.fixture
def apply(monkeypatch: pytest.MonkeyPatch) -> Any:
    def made(changes: tuple[HostChange, ...], *, allowed: bool = False, **options: Any) -> Nodes:
        nodes = Nodes(changes)
        monkeypatch.setattr(hosts, "live_nodes", lambda *_: nodes)
        monkeypatch.setattr(hosts, "find_target", lambda name: name)
        target = SimpleNamespace(rollout=SimpleNamespace(single_step=allowed))
        monkeypatch.setattr(hosts, "load_target", lambda file: target)
        hosts.apply(Project(Path("pod.yml"), Operator()), "live", **options)
        return nodes

    return made


def test_another_marking_of_live_nodes_is_refused_in_one_step(apply: Any) -> None:
    with pytest.raises(RefusedError) as refused:
        apply(REMARKED)
    (found,) = refused.value.diagnostics
    assert (found.code, found.devices) == ("RW808", ("gpu1",))
    assert found.message.startswith("dscp to priority would change on gpu1")
    assert "hosts apply --from REV --phase N" in found.fix


def test_consent_a_phase_or_a_rehearsal_allows_it(apply: Any) -> None:
    assert apply(REMARKED, single_step=True).applied
    assert apply(REMARKED, values=object()).applied
    assert apply(REMARKED, allowed=True).applied


def test_what_no_other_node_relies_on_needs_no_consent(apply: Any) -> None:
    assert apply(REMARKED[:1]).applied
    assert apply(REMARKED[1:]).applied
