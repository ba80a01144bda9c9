"""Signed plans: made by ssh-keygen, checked against the target's allowed signers before anything is done."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from planned_devices import planned

from railweave.api.plan_files import check_resumed, read_order, read_signed, sign_plan
from railweave.errors import RailweaveError, RefusedError
from railweave.plan.document import plan_json
from railweave.plan.model import DeviceState, Plan
from railweave.plan.resumption import changes_sha256
from railweave.plan.rollout import DeviceRecord, Rollout, RolloutKind, RolloutMetadata
from railweave.plan.signed import Signed, parse_signed
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op

MTU = Change(Op.UPDATE, "PORT", "Ethernet0", "mtu", "9100", "9000", Disruption.NONE, Method.WRITE, "mtu.fabric")
PLAN = Plan(
    "pod1", "production", "f" * 64, {"leaf1": planned(DeviceState.CHANGED, running_sha256="a" * 64)},
    (("leaf1",),),
).with_deltas({"leaf1": Delta((MTU,))})  # fmt: skip


ROLLOUT = "20261122T180000Z-pod1-0123ab"


def key(folder: Path, name: str) -> Path:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True)
    return path


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text('{"changes": []}')
    return path


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    path = tmp_path / "allowed_signers"
    kind, public = key(tmp_path, "ada").with_suffix(".pub").read_text().split()[:2]
    path.write_text(f'ada@example.net namespaces="railweave-plan,railweave-rollback" {kind} {public}\n')
    return path


def test_a_plan_that_an_allowed_signer_signed_names_the_signer(plan: Path, allowed: Path) -> None:
    assert sign_plan(plan, plan.parent / "ada") == Path(f"{plan}.sig")
    assert read_signed(plan, allowed)[1] == "ada@example.net"
    sign_plan(plan, plan.parent / "ada")
    assert read_signed(plan, allowed)[1] == "ada@example.net", "it can be signed again"


def message(act: Callable[[], object]) -> str:
    with pytest.raises(RefusedError) as found:
        act()
    (one,) = found.value.diagnostics
    assert one.code == "RW528"
    return one.message


def refused(plan: Path, data: bytes, allowed: Path) -> str:
    plan.write_bytes(data)
    return message(lambda: read_signed(plan, allowed))


def test_a_plan_without_a_signature_of_somebody_else_or_changed_since_is_refused(plan: Path, allowed: Path) -> None:
    data = plan.read_bytes()
    assert "is not signed" in refused(plan, data, allowed)
    sign_plan(plan, plan.parent / "ada")
    assert "is not of this content" in refused(plan, data + b" ", allowed)
    plan.write_bytes(data)
    sign_plan(plan, key(plan.parent, "eve"))
    assert "is of nobody in" in refused(plan, data, allowed)
    Path(f"{plan}.sig").write_text("odd")
    assert "is of nobody in" in refused(plan, data, allowed)
    assert "is of nobody in" in refused(plan, data, plan.parent / "gone")


def test_a_signature_for_another_purpose_is_none(plan: Path, allowed: Path) -> None:
    words = ["ssh-keygen", "-Y", "sign", "-q", "-f", str(plan.parent / "ada"), "-n", "git", str(plan)]
    subprocess.run(words, check=True, capture_output=True)
    assert refused(plan, plan.read_bytes(), allowed)


def test_a_key_that_cannot_sign_is_told(plan: Path) -> None:
    with pytest.raises(RailweaveError, match="cannot be signed with"):
        sign_plan(plan, plan.parent / "nokey")


# The journal of a signed rollout


def signed(path: Path, text: bytes, namespace: str = "railweave-plan", signer: str = "ada") -> Signed:
    path.write_bytes(text)
    Path(f"{path}.sig").unlink(missing_ok=True)
    words = ["ssh-keygen", "-Y", "sign", "-q", "-f", str(path.parent / signer), "-n", namespace, str(path)]
    subprocess.run(words, check=True, capture_output=True)
    return Signed(text, Path(f"{path}.sig").read_bytes())


@pytest.fixture
def rollout(tmp_path: Path, allowed: Path) -> Rollout:
    """A rollout of the signed plan, as its journal tells it."""
    record = DeviceRecord(changes_sha256=changes_sha256(PLAN.deltas["leaf1"]))
    text = json.dumps(plan_json(PLAN)).encode()
    return Rollout(
        ROLLOUT, tmp_path / f"{ROLLOUT}.jsonl", "pod1", "production", intent_sha256="f" * 64,
        devices={"leaf1": record}, metadata=RolloutMetadata(signed=signed(tmp_path / "made.json", text)),
    )  # fmt: skip


def test_a_rollout_is_resumed_by_the_signature_that_its_journal_carries(rollout: Rollout, allowed: Path) -> None:
    assert check_resumed(rollout, allowed) == "ada@example.net"
    assert rollout.metadata.signed is not None
    assert parse_signed(json.loads(json.dumps(rollout.metadata.signed.as_json()))) == rollout.metadata.signed
    allowed.write_text("")
    assert "is of nobody in" in message(lambda: check_resumed(rollout, allowed)), "a signer may have left since"


def test_a_journal_that_names_other_changes_than_the_signed_plan_is_not_resumed(
    rollout: Rollout, allowed: Path
) -> None:
    other = {"leaf1": DeviceRecord(changes_sha256="0" * 64)}
    for forged in (
        replace(rollout, devices=other),
        replace(rollout, devices={**rollout.devices, "leaf2": rollout.devices["leaf1"]}),
        replace(rollout, intent_sha256="0" * 64),
        replace(rollout, target="sim"),
        replace(rollout, fabric="pod2"),
    ):
        assert "does not have the plan that was signed" in message(partial(check_resumed, forged, allowed))


def test_a_journal_without_a_signature_or_with_one_of_another_text_is_not_resumed(
    rollout: Rollout, allowed: Path
) -> None:
    genuine = rollout.metadata.signed
    assert genuine is not None
    unsigned = replace(rollout, metadata=RolloutMetadata())
    assert "has no plan or order" in message(lambda: check_resumed(unsigned, allowed))
    forged = replace(rollout, metadata=RolloutMetadata(signed=replace(genuine, text=genuine.text + b" ")))
    assert "is not of this content" in message(lambda: check_resumed(forged, allowed))


@pytest.mark.parametrize(
    "value", [None, [], {}, {"text": 1}, {"text": "!", "signature": ""}, {"text": "aGk=", "signature": ""}]
)
def test_what_is_no_signed_text_in_a_journal_is_none(value: object) -> None:
    assert parse_signed(value) is None


def test_a_rollback_needs_an_order_that_names_its_rollout(tmp_path: Path, allowed: Path) -> None:
    order = tmp_path / "order"
    assert "is rolled back by an order only" in message(lambda: read_order(None, ROLLOUT, allowed))
    signed(order, f"{ROLLOUT}\n".encode(), "railweave-rollback")
    assert read_order(order, ROLLOUT, allowed)[1] == "ada@example.net"
    assert "not 20261122T190000Z-pod1-0123ab" in message(
        lambda: read_order(order, "20261122T190000Z-pod1-0123ab", allowed)
    )
    signed(order, f"{ROLLOUT}\n".encode(), "railweave-plan")
    assert message(lambda: read_order(order, ROLLOUT, allowed)), "who may sign plans did not order that"
    Path(f"{order}.sig").unlink()
    assert "is not signed" in message(lambda: read_order(order, ROLLOUT, allowed))


def test_a_rollback_is_resumed_by_its_own_order(rollout: Rollout, tmp_path: Path, allowed: Path) -> None:
    order = signed(tmp_path / "order", f"{ROLLOUT}\n".encode(), "railweave-rollback")
    metadata = RolloutMetadata(RolloutKind.ROLLBACK, ROLLOUT, signed=order)

    def back(**values: Any) -> Rollout:
        return replace(rollout, metadata=replace(metadata, **values))

    assert check_resumed(back(), allowed) == "ada@example.net"
    assert "orders to roll back" in message(lambda: check_resumed(back(of="another"), allowed))
    assert message(lambda: check_resumed(back(signed=rollout.metadata.signed), allowed)), "a plan is no order"
