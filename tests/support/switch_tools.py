"""SONiC's commands for ``switch_bench``, by the name they are called under: they change Redis and FRR's text."""

from __future__ import annotations

import os
import sys

# Imported where they are used: a test starts these commands dozens of times, and most of them need none.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOT = os.environ["RAILWEAVE_ROOT"]


def content(path: str) -> str:
    with open(path) as file:
        return file.read()


def redis(*words: str) -> bytes:
    import socket

    with socket.socket(socket.AF_UNIX) as one:
        one.connect(ROOT + "/var/run/redis/redis.sock")
        parts = [b"*%d\r\n" % len(words)] + [b"$%d\r\n%s\r\n" % (len(w.encode()), w.encode()) for w in words]
        one.sendall(b"".join(parts))
        with one.makefile("rb") as answer:
            return answer.read(int(answer.readline()[1:]))


def sent(path: str) -> Any:
    import json

    return json.loads(content(path))


def load(document: dict[str, Any]) -> None:
    for table, rows in document.items():
        for key, row in rows.items():
            if row is None:
                redis("DEL", f"{table}|{key}")
                continue
            for name, value in row.items():
                listed = isinstance(value, list)
                redis("HSET", f"{table}|{key}", name + "@" * listed, ",".join(value) if listed else value)


def patch(operations: list[dict[str, Any]]) -> None:
    for one in operations:
        _, table, key, name = one["path"].split("/")
        redis("HSET", f"{table}|{key}", name, one["value"])


def vtysh(text: str) -> None:
    kept = content(ROOT + "/frr.txt").splitlines()
    above = ""
    for line in text.splitlines():
        word = line.strip()
        if word in ("exit", "end", ""):
            above = ""
        elif word.startswith("router "):
            above = word
        elif word.startswith("no "):
            kept = [one for one in kept if one.strip() != word[3:]]
        elif not above:
            kept.append(word)
        else:
            kept.insert(kept.index(above) + 1, " " + word)
    with open(ROOT + "/frr.txt", "w") as file:
        file.write("\n".join([*kept, ""]))


name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(ROOT + "/commands.log", "a") as log:
    log.write(" ".join([name, *words]) + "\n")
if os.path.exists(ROOT + "/held") and content(ROOT + "/held") in words:
    with open(ROOT + "/reached", "wb") as reached, open(ROOT + "/go", "rb", 0) as go:
        reached.write(b".")
        reached.flush()
        go.read(1)
if name == "config" and words[0] == "load":
    load(sent(words[-1]))
elif name == "config" and words[0] == "apply-patch":
    patch(sent(words[-1]))
elif name == "config" and words[0] == "save":
    with open(words[-1], "wb") as saved:
        saved.write(redis("TABLES"))
elif name == "vtysh" and words[0] == "-f":
    path = ROOT + words[1].replace("/etc/frr", "/etc/sonic/frr")
    with open(ROOT + "/modes.log", "a") as log:
        log.write(f"{os.stat(path).st_mode & 0o777:o}\n")
    vtysh(content(path))
elif name == "vtysh" and words[1] == "show daemons":
    print(" mgmtd zebra bgpd staticd")
elif name == "vtysh" and words[1].startswith("show running-config"):
    print("frr version 10.3\n!\n" + content(ROOT + "/frr.txt") + "end")
