"""A plan document by hand, in the contract's form: two leaves, two spines and four nodes of two rails."""

from typing import Any


def small_plan() -> dict[str, Any]:
    """Return the plan: one isolated, two loaded, one incast and one latency round."""
    links = []
    for node in range(1, 5):
        for rail in range(2):
            link = _link(
                f"gpu{node} rail{rail}",
                (f"gpu{node}", f"rail{rail}"),
                (f"lab-leaf{rail + 1}", f"Ethernet{4 * node - 4}"),
            )
            links.append({**link, "rail": rail, "kind": "host", "nic_port": _nic(f"gpu{node}", rail)})
    for leaf in range(1, 3):
        for spine in range(1, 3):
            for cable in range(2):
                port = f"Ethernet{16 + 8 * (spine - 1) + 4 * cable}"
                upper = f"lab-spine{spine}", f"Ethernet{8 * (leaf - 1) + 4 * cable}"
                links.append({**_link(f"lab-leaf{leaf} {port}", (f"lab-leaf{leaf}", port), upper), "kind": "fabric"})
    tests: list[dict[str, Any]] = []
    rounds = [
        _round(tests, "r001", "isolated", [((1, 0), (2, 1))]),
        _round(tests, "r002", "loaded", [((n, r), (n % 4 + 1, r)) for n in range(1, 5) for r in range(2)]),
        _round(tests, "r003", "loaded", [((n, r), ((n + 1) % 4 + 1, 1 - r)) for n in range(1, 5) for r in range(2)]),
        _round(tests, "r004", "incast", [((n, 0), (1, 0)) for n in range(2, 5)]),
        _round(tests, "r005", "latency", [((1, 0), (3, 0)), ((2, 1), (4, 1))]),
    ]
    return {
        "version": 1,
        "fabric": "lab",
        "intent_sha256": "0" * 64,
        "level": "smoke",
        "seed": 1,
        "duration_s": 120,
        "rounds": rounds,
        "tests": tests,
        "links": [{"probability": 1.0, "rounds": ["r002", "r003"], **link} for link in links],
        "devices": [
            {"name": f"lab-{tier}{n}", "tier": tier, "plane": 0, "stripe": None, "rail": None, "pod": None}
            for tier in ("leaf", "spine")
            for n in (1, 2)
        ],
        "nodes": [{"name": f"gpu{n}", "kind": "gpu", "stripe": 0} for n in range(1, 5)],
        "classes": [
            _class("roce", "rdma", 3, lossless=True, ecn=True, dscp=[26]),
            _class("cnp", "cnp", 6, lossless=False, ecn=False, dscp=[48]),
            _class("best-effort", "bulk", 0, lossless=False, ecn=False, dscp=[]),
        ],
        "settings": {"covered_share": 0.05, "disturbed_share": 0.02, "peer_share": 0.95, "variation": 0.05},
    }


def _nic(node: str, nic: int) -> dict[str, Any]:
    return {"node": node, "nic": nic, "port": 0}


def _link(cable: str, lower: tuple[str, str], upper: tuple[str, str]) -> dict[str, Any]:
    return {
        "cable": cable,
        "a": {"device": lower[0], "port": lower[1]},
        "b": {"device": upper[0], "port": upper[1]},
        "speed_gbps": 100,
        "plane": 0,
        "rail": None,
        "nic_port": None,
    }


def _class(name: str, role: str, queue: int, **fields: Any) -> dict[str, Any]:
    return {"name": name, "role": role, "priority": queue, "queue": queue, **fields}


def _round(
    tests: list[dict[str, Any]], name: str, kind: str, pairs: list[tuple[tuple[int, int], tuple[int, int]]]
) -> dict[str, Any]:
    names = []
    program = ["ib_write_lat", "-n", "10000"] if kind == "latency" else ["ib_write_bw", "-D", "10", "--report_gbits"]
    expect = 2.5 if kind == "latency" else 98.0
    metric = "latency_typical" if kind == "latency" else "bandwidth"
    limit = {"metric": metric, "unit": "us" if kind == "latency" else "Gb/s", "expect": expect, "fail": expect / 4}
    for number, (sender, receiver) in enumerate(pairs):
        names.append(f"{name}-{number:04}")
        ends = [f"gpu{sender[0]}", f"gpu{receiver[0]}"]
        tests.append(
            {
                "id": names[-1],
                "round": name,
                "kind": kind,
                "tool": "perftest",
                "from": _nic(ends[0], sender[1]),
                "to": _nic(ends[1], receiver[1]),
                "queue_pairs": 1 if kind == "latency" else 4,
                "bytes": 64 if kind == "latency" else 65536,
                "argv": {ends[1]: [*program], ends[0]: [*program, ends[1]]},
                "limits": [{**limit, "warn": expect / 3, "formula": "expect", "inputs": {"expect": expect}}],
            }
        )
    return {"id": name, "kind": kind, "seconds": 10, "tests": names, "limits": []}
