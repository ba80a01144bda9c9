"""Plans in files, and signed. Orders to roll back are signed in the same way.

``ssh-keygen -Y`` makes and checks signatures with SSH keys. The signature is beside the file, in ``FILE.sig``. Who may
sign is in a file of allowed signers that the target names. The journal of a rollout carries what was signed, so that
whoever resumes it checks the signature again.
"""

import subprocess
import tempfile
from pathlib import Path

from railweave.diagnostics import Where, error
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.plan.document import parse_plan
from railweave.plan.model import Plan
from railweave.plan.resumption import unlike_plan
from railweave.plan.rollout import Rollout, RolloutKind
from railweave.plan.signed import Signed
from railweave.printable import printable
from railweave.wording import command_line, first_few

_PLAN_AGAIN = "make a plan of what is left, have it signed, and deploy that"
NAMESPACE = "railweave-plan"
"""The namespace of plan signatures, as ssh-keygen calls it: a signature made for another purpose is not valid."""
ORDER_NAMESPACE = "railweave-rollback"
"""The namespace of signed orders to roll back, files that hold the name of the rollout."""


def read_plan(file: Path, allowed_signers: Path | None) -> tuple[Plan, Signed | None, str]:
    """Return the plan in a file, what was signed, and who signed it; None and empty without ``allowed_signers``.

    With allowed signers the content is parsed only after its signature was checked. Raises UsageError for a missing
    file, RefusedError for one that no allowed signer signed, RailweaveError for one that cannot be read.
    """
    try:
        # Without allowed signers a signature proves nothing, so that it is not read.
        if allowed_signers is None:
            return parse_plan(file.read_bytes().decode(), str(file)), None, ""
        signed, signer = read_signed(file, allowed_signers)
        return parse_plan(signed.text.decode(), str(file)), signed, signer
    except FileNotFoundError:
        command = command_line("plan", "-o", file)
        raise UsageError(f"there is no plan {file}: `{command}` writes it") from None
    except (OSError, UnicodeDecodeError) as exc:
        raise RailweaveError(f"{file}: {getattr(exc, 'strerror', None) or 'not a text file'}") from exc


def sign_plan(file: Path, key: Path) -> Path:
    """Sign the plan in ``file`` with an SSH key, or its public half where an agent holds it; return the signature.

    Raises RailweaveError with what ssh-keygen said.
    """
    signature = Path(f"{file}.sig")
    # ssh-keygen asks before it overwrites a signature, which would wait for an answer in a pipeline.
    signature.unlink(missing_ok=True)
    status, output = _ssh_keygen(b"", "-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE, str(file))
    if status or not signature.is_file():
        raise RailweaveError(
            f"{file} cannot be signed with {key}: {output}; name the private key of an SSH key pair, or its public key"
            " if an agent holds the private one"
        )
    return signature


def read_signed(file: Path, allowed: Path) -> tuple[Signed, str]:
    """Return the plan in ``file`` with its signature, and who signed it.

    Raises RefusedError if no allowed signer did, OSError if a file cannot be read.
    """
    return _read_with_signature(file, allowed, NAMESPACE)


def read_order(file: Path | None, rollout: str, allowed: Path) -> tuple[Signed, str]:
    """Return the order to roll back ``rollout``, and who signed it.

    Raises RefusedError if there is no order, if no allowed signer signed it, or if it names another rollout; OSError if
    it cannot be read.
    """
    if file is None:
        message = f"rollout {rollout} is rolled back by an order only that somebody in {allowed} signed"
        fix = (
            f"`echo {rollout} > order`, have it signed by `ssh-keygen -Y sign -f KEY -n {ORDER_NAMESPACE} order`, then "
            f"`{command_line('rollback', rollout, '--order', 'order')}`; or revert the intent and deploy a signed plan"
        )
        raise RefusedError([error("RW528", message, fix=fix)])
    order, signer = _read_with_signature(file, allowed, ORDER_NAMESPACE)
    _require_order(order, rollout, str(file))
    return order, signer


def check_resumed(rollout: Rollout, allowed: Path) -> str:
    """Return who signed the plan or order in the journal of ``rollout``.

    Raises RefusedError if nobody did who is an allowed signer now, or if the journal has other changes than the signed
    plan.
    """
    where = f"the journal of rollout {rollout.name}"
    signed = rollout.metadata.signed
    if signed is None:
        message = f"{where} has no plan or order that somebody in {allowed} signed"
        raise RefusedError([error("RW528", message, Where(str(rollout.path)), fix=_PLAN_AGAIN)])
    if rollout.metadata.kind is RolloutKind.ROLLBACK:
        signer = _signer(signed, allowed, ORDER_NAMESPACE, where)
        _require_order(signed, rollout.metadata.of, where)
        return signer
    signer = _signer(signed, allowed, NAMESPACE, where)
    plan = parse_plan(signed.text.decode("utf-8", "replace"), where)
    differences = unlike_plan(rollout, plan)
    if differences:
        message = f"{where} does not have the plan that was signed: {first_few(differences)} differ"
        raise RefusedError([error("RW528", message, Where(str(rollout.path)), fix=_PLAN_AGAIN)])
    return signer


def _require_order(order: Signed, rollout: str, where: str) -> None:
    """Raise RefusedError unless a signed order holds the name of ``rollout``."""
    ordered = printable(order.text.decode("utf-8", "replace").strip())
    if ordered == rollout:
        return
    # Shortened, because any other file may have been passed by mistake.
    message = f"{where} orders to roll back {ordered[:80]!r}, not {rollout}"
    fix = f"have an order signed that holds the rollout's name and nothing else: {rollout}"
    raise RefusedError([error("RW528", message, fix=fix)])


def _read_with_signature(file: Path, allowed: Path, namespace: str) -> tuple[Signed, str]:
    """Return the content of ``file`` with its signature, and who signed it; raises FileNotFoundError without the file.

    Raises RefusedError without a signature, or if no allowed signer made it.
    """
    try:
        signed = Signed(file.read_bytes(), Path(f"{file}.sig").read_bytes())
    except FileNotFoundError as missing:
        # For the file itself the caller names the command that writes it.
        if missing.filename == str(file):
            raise
        raise _not_signed(f"{file} is not signed: there is no {missing.filename}", str(file), namespace) from None
    return signed, _signer(signed, allowed, namespace, str(file))


def _signer(signed: Signed, allowed: Path, namespace: str, where: str) -> str:
    """Return who made the signature of ``signed``; raises RefusedError if no allowed signer did.

    ``where`` names what was signed in messages.
    """
    with tempfile.NamedTemporaryFile() as signature:
        # ssh-keygen reads the signed content from standard input, and the signature only from a file.
        signature.write(signed.signature)
        signature.flush()
        options = ("-f", str(allowed), "-n", namespace, "-s", signature.name)
        # ssh-keygen verifies a signature only for a given signer, so the signer is looked up first.
        status, output = _ssh_keygen(signed.text, "-Y", "find-principals", *options)
        signer = next(iter(output.splitlines()), "").strip()
        if status or not signer:
            reason = output or "no match"
            raise _not_signed(f"the signature of {where} is of nobody in {allowed}: {reason}", where, namespace)
        status, output = _ssh_keygen(signed.text, "-Y", "verify", *options, "-I", signer)
    if status:
        raise _not_signed(f"the signature of {where} is not of this content: {output}", where, namespace)
    return signer


def refuse_unsigned(target: str, allowed: Path) -> RefusedError:
    """Return the error for an unsigned plan on ``target``, which deploys signed plans only."""
    message = f"target {target} takes plans only that somebody in {allowed} signed"
    plan = command_line("plan", "--out", "plan.json", "--sign", "KEY")
    fix = f"`{plan}`, have it reviewed, then `{command_line('deploy', 'plan.json')}`"
    return RefusedError([error("RW528", message, fix=fix)])


def _not_signed(message: str, where: str, namespace: str) -> RefusedError:
    """Return the error for a file without a valid signature."""
    fix = f"review it and sign it: `ssh-keygen -Y sign -f KEY -n {namespace} FILE`"
    return RefusedError([error("RW528", message, Where(where, 1, 1), fix=fix)])


def _ssh_keygen(data: bytes, *arguments: str) -> tuple[int, str]:
    """Run ssh-keygen with ``data`` on its standard input; return its exit status and what it printed."""
    try:
        result = subprocess.run(["ssh-keygen", *arguments], input=data, capture_output=True, check=False)
    except OSError as fault:
        raise RailweaveError(f"ssh-keygen cannot be run: {fault.strerror}") from fault
    output = result.stdout
    if result.returncode:
        # `-Y verify` reports a signature that does not match on standard output.
        output = result.stderr or result.stdout
    return result.returncode, output.decode("utf-8", "replace").strip()
