"""Ansible module: the files of a GPU node, and its running state.

``part: files`` makes files, links and permissions as the bundle has them and removes files of ours that it has not.
``part: live`` runs the bundle's own program, which sets what differs in the kernel and in the NICs and reads it back.
In check mode both only tell. ``changes`` lists what differs or was changed, ``notes`` the settings of NIC firmware that
do not fit, which are never changed. ``part: facts`` changes nothing and returns
under ``facts`` how the node is set.
"""

from __future__ import annotations

import base64
import difflib
import glob
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from ansible.module_utils.basic import AnsibleModule

LOADS = (
    ("/etc/systemd/system/", "units"),
    ("/etc/systemd/network/", "networkd"),
    ("/etc/netplan/", "netplan"),
)
"""What must be told of a file below a folder."""

PROGRAM, FACTS_PROGRAM = "railweave_host.py", "railweave_facts.py"
"""The programs of a bundle by the names under which they find each other."""

LONGEST_DIFF = 200
PROGRAM_TIMEOUT_S = 600


def main() -> None:
    """Do one part."""
    module = AnsibleModule(
        argument_spec={
            "part": {"type": "str", "required": True, "choices": ["files", "live", "facts"]},
            "bundle": {"type": "str", "required": True},
            "root": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    bundle = json.loads(base64.b64decode(module.params["bundle"]))
    root = module.params["root"].rstrip("/")
    parts = {"files": files, "live": live, "facts": facts}
    parts[module.params["part"]](module, bundle, root)


def files(module: AnsibleModule, bundle: dict[str, Any], root: str) -> None:
    """Make the node's files as the bundle has them."""
    changes: list[dict[str, str]] = []
    for wanted in bundle["files"]:
        changes += write_file(module, wanted, root)
    for wanted in bundle["links"]:
        changes += make_link(module, wanted, root)
    changes += remove_foreign(module, bundle, root)
    module.exit_json(
        changed=bool(changes),
        changes=changes,
        loads=loads(changes, root),
        diff=[{"header": change["subject"], "prepared": change["diff"]} for change in changes if change["diff"]],
    )


def loads(changes: list[dict[str, str]], root: str) -> list[str]:
    """Return what must be told to load changed files, nothing where systemd does not run on them."""
    if root or not os.path.isdir("/run/systemd/system"):
        return []
    return sorted({load for change in changes for folder, load in LOADS if change["subject"].startswith(folder)})


def write_file(module: AnsibleModule, wanted: dict[str, Any], root: str) -> list[dict[str, str]]:
    """Write a file whose content or permissions differ."""
    path, place, mode = wanted["path"], root + wanted["path"], wanted["mode"]
    held, held_mode = read_file(place)
    changes = []
    if held != wanted["content"]:
        before = "absent" if held is None else "differs"
        changes.append(change(path, "content", before, "as intended", difference(held or "", wanted["content"], path)))
        if not module.check_mode:
            replace(module, place, wanted["content"])
    if held_mode is not None and held_mode != mode:
        changes.append(change(path, "mode", f"{held_mode:04o}", f"{mode:04o}"))
    if not module.check_mode and read_file(place)[1] != mode:
        os.chmod(place, mode)
    return changes


def read_file(place: str) -> tuple[str | None, int | None]:
    """Return a file's text and permission bits, None where there is none."""
    try:
        with open(place, encoding="utf-8", errors="replace") as file:
            return file.read(), os.fstat(file.fileno()).st_mode & 0o7777
    except FileNotFoundError:
        return None, None


def replace(module: AnsibleModule, place: str, content: str) -> None:
    """Write a file beside its place and move it there."""
    os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
    handle, fresh = tempfile.mkstemp(dir=module.tmpdir)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
    module.atomic_move(fresh, place)


def make_link(module: AnsibleModule, wanted: dict[str, str], root: str) -> list[dict[str, str]]:
    """Make a symbolic link."""
    place = root + wanted["path"]
    held = os.readlink(place) if os.path.islink(place) else "a file" if os.path.exists(place) else "absent"
    if held == wanted["target"]:
        return []
    if not module.check_mode:
        os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
        if held != "absent":
            os.remove(place)
        os.symlink(wanted["target"], place)
    return [change(wanted["path"], "link", held, wanted["target"])]


def remove_foreign(module: AnsibleModule, bundle: dict[str, Any], root: str) -> list[dict[str, str]]:
    """Remove files that bear our names and are not wanted, such as those of a rail that is gone."""
    wanted = {root + one["path"] for one in bundle["files"]}
    found = sorted(place for pattern in bundle["owned"] for place in glob.glob(root + pattern) if place not in wanted)
    if not module.check_mode:
        for place in found:
            os.remove(place)
    return [change(place[len(root) :], "content", "present", "absent") for place in found]


def live(module: AnsibleModule, bundle: dict[str, Any], root: str) -> None:
    """Run the node's program from a temporary folder, so that a dry run needs nothing installed."""
    verb = "check" if module.check_mode else "apply"
    told = run_program(module, bundle, PROGRAM, [verb, "--json", "--root", root])
    notes = run_program(module, bundle, FACTS_PROGRAM, ["--firmware", "--root", root])["notes"]
    changes = [change(one["subject"], one["what"], one["before"], one["after"]) for one in told["changes"]]
    if told["problems"]:
        said = "; ".join(f"{one['subject']} {one['what']}: {one['message']}" for one in told["problems"])
        module.fail_json(msg=said, changed=bool(changes), changes=changes, notes=notes)
    module.exit_json(changed=bool(changes), changes=changes, notes=notes)


def facts(module: AnsibleModule, bundle: dict[str, Any], root: str) -> None:
    """Read how the node is set."""
    module.exit_json(changed=False, facts=run_program(module, bundle, FACTS_PROGRAM, ["--root", root]))


def run_program(module: AnsibleModule, bundle: dict[str, Any], program: str, words: list[str]) -> Any:
    """Return what one of the bundle's programs prints, a JSON document."""
    with tempfile.TemporaryDirectory(dir=module.tmpdir) as folder:
        document = os.path.join(folder, "rails.json")
        texts = {PROGRAM: bundle["program"], FACTS_PROGRAM: bundle["facts_program"]}
        for name, text in (*texts.items(), ("rails.json", json.dumps(bundle["document"]))):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        command = [sys.executable, os.path.join(folder, program), *words, "--document", document]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            module.fail_json(msg=f"the node's program did not end within {PROGRAM_TIMEOUT_S} s")
    try:
        return json.loads(done.stdout)
    except ValueError:
        module.fail_json(msg=f"the node's program failed: {(done.stderr or done.stdout).strip()[-500:]}")


def change(subject: str, what: str, before: str, after: str, diff: str = "") -> dict[str, str]:
    """Return one change."""
    return {"subject": subject, "what": what, "before": before, "after": after, "diff": diff}


def difference(before: str, after: str, path: str) -> str:
    """Return a unified diff, cut where it would not be read."""
    lines = list(difflib.unified_diff(before.splitlines(True), after.splitlines(True), path, path, n=1))
    if len(lines) > LONGEST_DIFF:
        lines = [*lines[:LONGEST_DIFF], f"… {len(lines) - LONGEST_DIFF} lines more\n"]
    return "".join(lines)


if __name__ == "__main__":
    main()
