"""The role's module, with its arguments written into its text as Ansible does."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from railweave_hosts.runner import ROLE, ROLES

MODULE = ROLES / ROLE / "library" / "railweave_node.py"
PLACE = "<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"
SHOWS_ITS_WORDS = "import json, sys; print(json.dumps(sys.argv[1:]))"


def ran(folder: Path, **arguments: Any) -> Any:
    text = MODULE.read_text(encoding="utf-8")
    assert text.count(PLACE) == 1
    bundle = {"programs": {"railweave_facts.py": SHOWS_ITS_WORDS, "railweave_rdma.py": "oops"}, "document": {}}
    given = {"bundle": base64.b64encode(json.dumps(bundle).encode()).decode(), **arguments}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-"],
        input=text.replace(PLACE, json.dumps(given)),
        env={"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    told = json.loads(done.stdout)
    assert done.returncode == int("failed" in told), done.stderr
    assert list(folder.iterdir()) == []
    return told


def test_arguments_arrive_as_they_are_whatever_quotes_they_have(tmp_path: Path) -> None:
    root = '/a"""b\\"""c\'\'\'\\é\n'
    assert ran(tmp_path, part="facts", root=root)["facts"][-2:] == ["--root", root]


def test_a_part_that_is_not_known_or_fails_is_told(tmp_path: Path) -> None:
    assert "must be one of change, " in ran(tmp_path, part="all")["msg"]
    assert "NameError" in ran(tmp_path, part="rdma-test")["msg"]
