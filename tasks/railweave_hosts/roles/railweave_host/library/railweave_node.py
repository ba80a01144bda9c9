#!/usr/bin/python
"""Ansible module: one part of the work on a GPU node, done by the bundle's own programs.

``part: change`` applies the files and running settings of the bundle in one transaction with a snapshot; in check mode
it only reports them. ``part: confirm`` closes the snapshot, ``part: rollback`` restores it. ``changes`` lists what
differs or was changed, ``notes`` the NIC firmware settings that do not fit, which are never changed. ``part: facts``
and ``part: rdma-test`` change nothing; ``facts`` has the settings of the node, or the results of its end of the test.

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
    """The work failed; ``result`` has the changes made before that."""

    def __init__(self, message: str, **result: Any) -> None:
        super().__init__(message)
        self.result = result


def main() -> NoReturn:
    """Do one part and print its result as Ansible expects it from a module."""
    arguments = json.loads(ARGUMENTS)
    # The runner tells an answer of this module from others by the part in it.
    result: dict[str, Any] = {"changed": False, "invocation": {"module_args": {"part": arguments["part"]}}}
    exit_code = 0
    try:
        result |= done(arguments)
    except FailedError as error:
        result |= {**error.result, "failed": True, "msg": str(error)}
        exit_code = 1
    print(json.dumps(result))
    sys.exit(exit_code)


def done(arguments: dict[str, Any]) -> dict[str, Any]:
    """Do one part and return its results. Raises FailedError."""
    part = arguments["part"]
    root = arguments.get("root") or ""
    if part not in PARTS:
        raise FailedError(f"part is {part!r}, and must be one of {', '.join(PARTS)}")
    bundle = json.loads(base64.b64decode(arguments["bundle"]))
    with tempfile.TemporaryDirectory(prefix="railweave-node-") as folder:
        texts = {**bundle["programs"], "rails.json": json.dumps(bundle["document"]), "bundle.json": json.dumps(bundle)}
        for name, text in texts.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        node = NodePrograms(folder, root.rstrip("/"))
        if part == "facts":
            return {"facts": node.facts()}
        if part == "rdma-test":
            return {"facts": node.run("railweave_rdma.py", *node.bundle)}
        return work(node, part, check=bool(arguments.get("_ansible_check_mode")))


def work(node: NodePrograms, part: str, *, check: bool) -> dict[str, Any]:
    """Do one part of a change and return its results; ``check`` only reports. Raises FailedError."""
    answer = node.run("railweave_change.py", *command_words(part, check), *node.bundle)
    changes = answer["changes"]
    notes: list[Any] = []
    if part == "change":
        notes = node.facts("--firmware")["notes"]
    result = {
        "changed": bool(changes),
        "changes": changes,
        "notes": notes,
        "interrupted": answer.get("interrupted", False),
        "diff": [{"header": change["subject"], "prepared": change["diff"]} for change in changes if change["diff"]],
    }
    problems = [f"{problem['subject']} {problem['what']}: {problem['message']}" for problem in answer["problems"]]
    if problems:
        sentences = list(problems)
        if answer.get("outcome"):
            sentences.append(answer["outcome"])
        raise FailedError("; ".join(sentences), **result)
    return result


def command_words(part: str, check: bool) -> list[str]:
    """Return the arguments of railweave_change.py for a part of the work; ``check`` only reports."""
    if part == "change":
        return ["check"] if check else ["apply"]
    if part == "rollback" and check:
        return ["rollback", "--check"]
    return [part]


class NodePrograms:
    """The programs of a bundle, written to ``folder``; ``root`` is put before the paths of the node's files."""

    def __init__(self, folder: str, root: str) -> None:
        self.folder = folder
        self.root = root
        self.bundle = ("--bundle", os.path.join(folder, "bundle.json"))

    def facts(self, *words: str) -> Any:
        """Return the settings of the node. Raises FailedError."""
        return self.run("railweave_facts.py", "--document", os.path.join(self.folder, "rails.json"), *words)

    def run(self, program: str, *words: str) -> Any:
        """Run a program and return the JSON document that it prints. Raises FailedError."""
        command = [sys.executable, os.path.join(self.folder, program), *words, "--root", self.root]
        try:
            process = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise FailedError(f"the node's program did not end within {PROGRAM_TIMEOUT_S} s") from None
        try:
            return json.loads(process.stdout)
        except ValueError:
            # The end of a traceback has the error.
            output = (process.stderr or process.stdout).strip()[-500:]
            raise FailedError(f"the node's program failed: {output}") from None


if __name__ == "__main__":
    main()
