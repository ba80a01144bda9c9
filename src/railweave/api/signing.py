"""Signatures of plan files, by SSH keys: ``ssh-keygen -Y`` makes and checks them.

The signature stands beside the plan, in ``FILE.sig``. Who may sign is in a file of allowed signers that the target
names.
"""

import subprocess
from pathlib import Path

from railweave.diagnostics import Where, error
from railweave.errors import RailweaveError, RefusedError

NAMESPACE = "railweave-plan"
"""What a signature is for: one made for anything else is none of a plan."""


def sign_plan(file: Path, key: Path) -> Path:
    """Sign the plan in ``file`` with an SSH key, or its public half where an agent holds it; return the signature.

    Raises RailweaveError with what ssh-keygen said.
    """
    signature = Path(f"{file}.sig")
    signature.unlink(missing_ok=True)
    status, said = _ssh_keygen(b"", "-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE, str(file))
    if status or not signature.is_file():
        raise RailweaveError(f"{file} cannot be signed with {key}: {said}")
    return signature


def check_signature(file: Path, plan: bytes, allowed: Path) -> str:
    """Return who signed ``plan``, the content of ``file``; raises RefusedError where no allowed signer did."""
    signature = f"{file}.sig"
    if not Path(signature).is_file():
        raise _refused(f"{file} is not signed: there is no {signature}", file)
    told = ("-f", str(allowed), "-n", NAMESPACE, "-s", signature)
    status, said = _ssh_keygen(plan, "-Y", "find-principals", *told)
    signer = said.splitlines()[0].strip() if said else ""
    if status or not signer:
        raise _refused(f"{signature} is of nobody in {allowed}: {said or 'no match'}", file)
    status, said = _ssh_keygen(plan, "-Y", "verify", *told, "-I", signer)
    if status:
        raise _refused(f"{signature} is no signature of this plan: {said}", file)
    return signer


def refuse_unsigned(target: str, allowed: Path) -> RefusedError:
    """Return that ``target`` takes signed plans only."""
    message = f"target {target} takes plans only that somebody in {allowed} signed"
    fix = "`railweave plan --out plan.json --sign KEY`, have it reviewed, then `railweave deploy plan.json`"
    return RefusedError([error("RW528", message, fix=fix)])


def _refused(message: str, file: Path) -> RefusedError:
    fix = f"review the plan and sign it: `ssh-keygen -Y sign -f KEY -n {NAMESPACE} {file}`"
    return RefusedError([error("RW528", message, Where(str(file), 1, 1), fix=fix)])


def _ssh_keygen(data: bytes, *words: str) -> tuple[int, str]:
    try:
        done = subprocess.run(["ssh-keygen", *words], input=data, capture_output=True, check=False)
    except OSError as fault:
        raise RailweaveError(f"ssh-keygen cannot be run: {fault.strerror}") from fault
    said = (done.stdout if done.returncode == 0 else done.stderr or done.stdout).decode("utf-8", "replace").strip()
    return done.returncode, said
