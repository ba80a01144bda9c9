"""Spoil what a run has written, as crashes, mixed shells, other runs and cleared counters do."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

Spoiler = Callable[[Path, Random], None]


def truncated(folder: Path, rng: Random) -> None:
    """Cut a result in its middle: the node went down while it was written."""
    path = _client_file(folder, rng)
    text = path.read_text()
    # Behind the settings of the test and before its numbers.
    path.write_text(text[: max(text.rfind("BW"), len(text) // 2)])


def interleaved(folder: Path, rng: Random) -> None:
    """Mix the lines of two results, as two programs on one terminal do."""
    paths = rng.sample(_client_files(folder), 2)
    first, second = (path.read_text().splitlines() for path in paths)
    lines = [line for pair in zip(first, second, strict=False) for line in pair]
    paths[0].write_text("\n".join(line[: rng.randrange(5, 60)] for line in lines))


def mixed(folder: Path, rng: Random) -> None:
    """Put the result of another program in the place of a test's."""
    path = _client_file(folder, rng)
    path.unlink()
    text = '{"start": {"version": "iperf 3.12"}, "end": {}, "error": "error - unable to connect to server"}'
    path.with_suffix(".json").write_text(text)


def of_another_plan(folder: Path, rng: Random) -> None:
    """State another plan beside every result."""
    for path in folder.glob("results/*/*.meta.json"):
        _edit(path, {"plan_sha256": "f" * 64})


def without_a_node(folder: Path, rng: Random) -> None:
    """Lose every file of a node."""
    names = sorted({path.name for path in folder.glob("counters/*/after/*.json") if '"nics"' in path.read_text()})
    name = rng.choice(names).removesuffix(".json")
    for path in folder.rglob(f"{name}.*"):
        path.unlink()


def of_an_unknown_version(folder: Path, rng: Random) -> None:
    """Let a node have a release that nobody has seen."""
    path = _client_file(folder, rng)
    _edit(path.with_suffix("").with_suffix(".meta.json"), {"tool_version": "perftest 99.7"})


def of_another_mtu(folder: Path, rng: Random) -> None:
    """Let a test run with the MTU of a NIC that nobody configured."""
    _replace(_client_file(folder, rng), r"(Mtu\"?\s*:\s*)4096", r"\g<1>1024")


def of_another_link(folder: Path, rng: Random) -> None:
    """Let a test run over the InfiniBand port of its node."""
    _replace(_client_file(folder, rng), r"(Link[ _]type\"?\s*:\s*\"?)Ethernet", r"\g<1>IB")


def _replace(path: Path, pattern: str, text: str) -> None:
    changed, count = re.subn(pattern, text, path.read_text())
    assert count == 1, path
    path.write_text(changed)


def counters_backwards(folder: Path, rng: Random) -> None:
    """Let one counter of a port fall for no reason."""
    path = _switch_reading(folder, rng)
    document = json.loads(path.read_text())
    earlier = json.loads((path.parents[1] / "before" / path.name).read_text())
    port = rng.choice(sorted(document["ports"]))
    name = "SAI_PORT_STAT_IF_OUT_OCTETS"
    document["ports"][port][name] = earlier["ports"][port][name] - 10**9
    path.write_text(json.dumps(document))


def counters_cleared(folder: Path, rng: Random) -> None:
    """Let a switch start again within a round: all of its counters begin at 0."""
    path = _switch_reading(folder, rng)
    document = json.loads(path.read_text())
    document["boot"] = "restarted"
    for table in ("ports", "queues", "groups"):
        document[table] = {row: dict.fromkeys(values, 3) for row, values in document[table].items()}
    path.write_text(json.dumps(document))


def other_clock(folder: Path, rng: Random) -> None:
    """Let a node's clock be a day ahead."""
    name = _client_file(folder, rng).stem
    for path in folder.glob(f"results/*/{name}.meta.json"):
        meta = json.loads(path.read_text())
        _edit(path, {"started": meta["started"] + 86400, "ended": meta["ended"] + 86400})
    for path in folder.glob(f"counters/*/*/{name}.json"):
        _edit(path, {"at": json.loads(path.read_text())["at"] + 86400})


SPOILERS: dict[str, Spoiler] = {
    "truncated": truncated,
    "interleaved": interleaved,
    "mixed": mixed,
    "another plan": of_another_plan,
    "missing node": without_a_node,
    "unknown version": of_an_unknown_version,
    "another MTU": of_another_mtu,
    "another link": of_another_link,
    "counters backwards": counters_backwards,
    "counters cleared": counters_cleared,
    "clocks": other_clock,
}


def _client_files(folder: Path) -> list[Path]:
    """Return the results that have a value: those of the senders of bandwidth tests."""
    tests = json.loads((folder / "plan.json").read_text())["tests"]
    paths = []
    for test in tests:
        if test.get("to") and test["kind"] in ("isolated", "loaded"):
            paths += [
                path
                for path in sorted((folder / "results" / test["id"]).glob(f"{test['from']['node']}.*"))
                if not path.name.endswith(".meta.json")
            ]
    return paths


def _client_file(folder: Path, rng: Random) -> Path:
    return rng.choice(_client_files(folder))


def _switch_reading(folder: Path, rng: Random) -> Path:
    """Return the reading of a switch after a round."""
    paths = [path for path in sorted(folder.glob("counters/*/after/*.json")) if '"queues"' in path.read_text()]
    return rng.choice(paths)


def _edit(path: Path, values: dict[str, Any]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
