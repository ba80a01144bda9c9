"""Signed plans: made by ssh-keygen, checked against the target's allowed signers before anything is done."""

import subprocess
from pathlib import Path

import pytest

from railweave.api.signing import check_signature, sign_plan
from railweave.errors import RailweaveError, RefusedError


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
    path.write_text(f'ada@example.net namespaces="railweave-plan" {kind} {public}\n')
    return path


def test_a_plan_that_an_allowed_signer_signed_names_the_signer(plan: Path, allowed: Path) -> None:
    assert sign_plan(plan, plan.parent / "ada") == Path(f"{plan}.sig")
    assert check_signature(plan, plan.read_bytes(), allowed) == "ada@example.net"
    sign_plan(plan, plan.parent / "ada")
    assert check_signature(plan, plan.read_bytes(), allowed) == "ada@example.net", "it can be signed again"


def refused(plan: Path, data: bytes, allowed: Path) -> str:
    with pytest.raises(RefusedError) as found:
        check_signature(plan, data, allowed)
    (one,) = found.value.diagnostics
    assert one.code == "RW528"
    return one.message


def test_a_plan_without_a_signature_of_somebody_else_or_changed_since_is_refused(plan: Path, allowed: Path) -> None:
    data = plan.read_bytes()
    assert "is not signed" in refused(plan, data, allowed)
    sign_plan(plan, plan.parent / "ada")
    assert "is no signature of this plan" in refused(plan, data + b" ", allowed)
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
