"""Ansible module: one part of the work on a GPU node, done by the bundle's own programs.

``part: change`` makes files and running settings as the bundle has them, in one transaction with a snapshot; in check
mode it only tells. ``part: confirm`` closes the snapshot, ``part: rollback`` goes back to it. ``changes`` lists what
differs or was changed, ``notes`` the settings of NIC firmware that do not fit, which are never changed. ``part: facts``
and ``part: rdma-test`` change nothing and return under ``facts`` how the node is set, and what its end of a test gave.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from ansible.module_utils.basic import AnsibleModule

PROGRAM_TIMEOUT_S = 600


def main() -> None:
    """Do one part."""
    module = AnsibleModule(
        argument_spec={
            "part": {
                "type": "str",
                "required": True,
                "choices": ["change", "confirm", "rollback", "facts", "rdma-test"],
            },
            "bundle": {"type": "str", "required": True},
            "root": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    bundle = json.loads(base64.b64decode(module.params["bundle"]))
    with tempfile.TemporaryDirectory(dir=module.tmpdir) as folder:
        texts = {**bundle["programs"], "rails.json": json.dumps(bundle["document"]), "bundle.json": json.dumps(bundle)}
        for name, text in texts.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        if module.params["part"] == "facts":
            module.exit_json(changed=False, facts=facts(module, folder))
        if module.params["part"] == "rdma-test":
            words = ["--bundle", os.path.join(folder, "bundle.json")]
            module.exit_json(changed=False, facts=run_program(module, folder, "railweave_rdma.py", words))
        work(module, folder)


def work(module: AnsibleModule, folder: str) -> None:
    """Do one part of a change."""
    verb = {"change": "check" if module.check_mode else "apply"}.get(module.params["part"], module.params["part"])
    words = ["--check"] if verb == "rollback" and module.check_mode else []
    told = run_program(
        module, folder, "railweave_change.py", [verb, "--bundle", os.path.join(folder, "bundle.json"), *words]
    )
    changes, problems = told["changes"], told["problems"]
    notes = facts(module, folder, "--firmware")["notes"] if verb in {"check", "apply"} else []
    result = {
        "changed": bool(changes),
        "changes": changes,
        "notes": notes,
        "interrupted": told.get("interrupted", False),
        "diff": [{"header": change["subject"], "prepared": change["diff"]} for change in changes if change["diff"]],
    }
    if problems:
        said = "; ".join(f"{one['subject']} {one['what']}: {one['message']}" for one in problems)
        module.fail_json(msg="; ".join(text for text in (said, told.get("outcome")) if text), **result)
    module.exit_json(**result)


def facts(module: AnsibleModule, folder: str, *words: str) -> Any:
    """Read how the node is set."""
    return run_program(module, folder, "railweave_facts.py", ["--document", os.path.join(folder, "rails.json"), *words])


def run_program(module: AnsibleModule, folder: str, program: str, words: list[str]) -> Any:
    """Return what one of the bundle's programs prints, a JSON document."""
    command = [sys.executable, os.path.join(folder, program), *words, "--root", module.params["root"].rstrip("/")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        module.fail_json(msg=f"the node's program did not end within {PROGRAM_TIMEOUT_S} s")
    try:
        return json.loads(done.stdout)
    except ValueError:
        module.fail_json(msg=f"the node's program failed: {(done.stderr or done.stdout).strip()[-500:]}")


if __name__ == "__main__":
    main()
