#!/usr/bin/python
"""Ansible module: one part of the work on a GPU node, done by the bundle's own programs.

``part: change`` makes files and running settings as the bundle has them, in one transaction with a snapshot; in check
mode it only tells. ``part: confirm`` closes the snapshot, ``part: rollback`` goes back to it. ``changes`` lists what
differs or was changed, ``notes`` the settings of NIC firmware that do not fit, which are never changed. ``part: facts``
and ``part: rdma-test`` change nothing and return under ``facts`` how the node is set, and what its end of a test gave.

A module of the kind "JSON args": Ansible writes its arguments into the text. One that uses Ansible's own Python has
forty of its files read, packed and sent by the controller, and compiled by every node, for each run.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, NoReturn

# Three quotes never follow one another in a JSON document.
ARGUMENTS = r"""<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"""
PARTS = ("change", "confirm", "rollback", "facts", "rdma-test")
PROGRAM_TIMEOUT_S = 600


class FailedError(Exception):
    """The work failed; ``result`` says what was done before."""

    def __init__(self, message: str, **result: Any) -> None:
        super().__init__(message)
        self.result = result


def main() -> NoReturn:
    """Do one part, and print what it gave as Ansible reads it."""
    arguments = json.loads(ARGUMENTS)
    told: dict[str, Any] = {"changed": False, "invocation": {"module_args": {"part": arguments["part"]}}}
    try:
        told |= done(arguments)
    except FailedError as error:
        told |= {**error.result, "failed": True, "msg": str(error)}
    print(json.dumps(told))
    sys.exit(1 if "failed" in told else 0)


def done(arguments: dict[str, Any]) -> dict[str, Any]:
    """Do one part and return its results. Raises FailedError."""
    part, root = arguments["part"], arguments.get("root") or ""
    if part not in PARTS:
        raise FailedError(f"part is {part!r}, and must be one of {', '.join(PARTS)}")
    bundle = json.loads(base64.b64decode(arguments["bundle"]))
    with tempfile.TemporaryDirectory(prefix="railweave-node-") as folder:
        texts = {**bundle["programs"], "rails.json": json.dumps(bundle["document"]), "bundle.json": json.dumps(bundle)}
        for name, text in texts.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        node = Node(folder, root.rstrip("/"))
        if part == "facts":
            return {"facts": node.facts()}
        if part == "rdma-test":
            return {"facts": node.run("railweave_rdma.py", *node.bundle)}
        return work(node, part, check=bool(arguments.get("_ansible_check_mode")))


def work(node: Node, part: str, *, check: bool) -> dict[str, Any]:
    """Do one part of a change. Raises FailedError."""
    verb = {"change": "check" if check else "apply"}.get(part, part)
    words = ["--check"] if verb == "rollback" and check else []
    told = node.run("railweave_change.py", verb, *node.bundle, *words)
    changes, problems = told["changes"], told["problems"]
    notes = node.facts("--firmware")["notes"] if verb in {"check", "apply"} else []
    result = {
        "changed": bool(changes),
        "changes": changes,
        "notes": notes,
        "interrupted": told.get("interrupted", False),
        "diff": [{"header": change["subject"], "prepared": change["diff"]} for change in changes if change["diff"]],
    }
    if problems:
        said = "; ".join(f"{one['subject']} {one['what']}: {one['message']}" for one in problems)
        raise FailedError("; ".join(text for text in (said, told.get("outcome")) if text), **result)
    return result


class Node:
    """The programs of a bundle in a folder of their own, and the root of the files that they work on."""

    def __init__(self, folder: str, root: str) -> None:
        self.folder, self.root = folder, root
        self.bundle = ("--bundle", os.path.join(folder, "bundle.json"))

    def facts(self, *words: str) -> Any:
        """Read how the node is set. Raises FailedError."""
        return self.run("railweave_facts.py", "--document", os.path.join(self.folder, "rails.json"), *words)

    def run(self, program: str, *words: str) -> Any:
        """Return what one of the programs prints, a JSON document. Raises FailedError."""
        command = [sys.executable, os.path.join(self.folder, program), *words, "--root", self.root]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise FailedError(f"the node's program did not end within {PROGRAM_TIMEOUT_S} s") from None
        try:
            return json.loads(ended.stdout)
        except ValueError:
            said = (ended.stderr or ended.stdout).strip()[-500:]
            raise FailedError(f"the node's program failed: {said}") from None


if __name__ == "__main__":
    main()
