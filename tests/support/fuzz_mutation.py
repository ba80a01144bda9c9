"""Mutations of valid inputs: of the tree that a text holds (YAML, JSON, JSON lines), of its lines and of its bytes."""

import copy
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

Tree = Any
Form = str
"""``json``, ``yaml``, ``lines`` (one JSON object a line) or ``text``."""

NUMBERS = (0, 1, -1, 2, 3, 7, 8, 64, 255, 256, 65535, 65536, 2**31, 2**32, 2**63, 10**17, -(2**63), 1.5, -0.0, 1e308)
TEXTS = (
    "", " ", "\n", "0", "-1", "1e9", "true", "null", "~", "yes", "*", "!", "%", "../../etc/passwd",
    "/proc/self/environ", "a" * 5000, "\x00", "\x1b[2J", "\u202e", "\ud800", "\udfff", "\uffff", "\U0001f600", "é",
    "{{ 7 * 7 }}", "{name}",
    "{name!r:>{number}}", "{0}", "10.0.0.1", "10.0.0.0/8", "255.255.255.255/32", "::/0", "fe80::1%eth0", "99999999999",
    "1:1", "400G", "50%", "-50%", "1e400%", "nan", "inf", "Ethernet0", "Ethernet99999", "PORT|Ethernet0", "1-2-3", "１",
    "2026-13-45", "9999-12-31", "\r\n", "\t", "a|b|c", "|", ",", ",,", "0x10", "010", "router bgp 65000", "<<",
)  # fmt: skip
BYTES = (b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\n", b"{", b"}", b"[", b"]", b'"', b":", b",", b"&a ", b"*a",
         b"!!str ", b"---\n", b"\\ud800", b"NaN", b"Infinity", b"-", b"1" * 5000, b"[" * 3000, b'{"a":' * 3000,
         b"1e999",
         b"\x1b[31m", b"\xc2\x85", b"\xed\xa0\x80", b"<<: *a", b"|", b"'", b"\t", b"# ", b"? ")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutator:
    """Makes inputs from ``seeds``. A ``header`` is the first line, which says what the rest is for and stays.

    ``seal`` completes a changed tree, so that not every change is stopped by a digest.
    """

    form: Form
    seeds: Sequence[bytes]
    header: bool = False
    seal: Callable[[Tree], Tree] = lambda tree: tree

    def make(self, rng: random.Random) -> bytes:
        """Return one input."""
        head, newline, body = (
            rng.choice(self.seeds).partition(b"\n") if self.header else (b"", b"", rng.choice(self.seeds))
        )
        if self.form == "lines" and rng.random() < 0.5:
            body = _mutated_lines(body, self._other(rng), rng)
        elif self.form != "text" and rng.random() < 0.85:
            body = self._mutated_tree(body, rng)
        if self.form == "text" or rng.random() < 0.2:
            for _ in range(rng.choice((1, 1, 2, 5))):
                body = _mutated_bytes(body, self._other(rng), rng)
        return head + newline + body

    def _other(self, rng: random.Random) -> bytes:
        other = rng.choice(self.seeds)
        return other.partition(b"\n")[2] if self.header else other

    def _mutated_tree(self, body: bytes, rng: random.Random) -> bytes:
        if self.form == "lines":
            lines = body.split(b"\n")
            at = rng.randrange(len(lines))
            lines[at] = _dumped_json(mutated(_loaded("json", lines[at]), rng), rng)
            return b"\n".join(lines)
        tree = mutated(_loaded(self.form, body), rng)
        if rng.random() < 0.8:
            tree = self.seal(tree)
        if self.form == "json":
            return _dumped_json(tree, rng)
        flow = rng.choice((None, False, True))
        return yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=rng.random() < 0.5).encode(errors="replace")


def mutated(tree: Tree, rng: random.Random) -> Tree:
    """Return a copy of a tree with some of its values changed, gone, moved or doubled."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        places = list(_places(tree))
        if not places:
            return odd(rng)
        _mutate_one(places, rng)
    return tree


def odd(rng: random.Random, depth: int = 2) -> Tree:
    """Return a value of any kind."""
    kind = rng.randrange(8 if depth else 5)
    if kind < 3:
        return rng.choice(TEXTS)
    if kind == 3:
        return rng.choice(NUMBERS)
    if kind == 4:
        return rng.choice((None, True, False, [], {}, ""))
    if kind == 5:
        return [odd(rng, depth - 1) for _ in range(rng.choice((1, 2, 3)))]
    return {str(rng.choice(TEXTS)): odd(rng, depth - 1) for _ in range(rng.choice((1, 2)))}


Place = tuple[Any, Any]


def _places(tree: Tree) -> list[Place]:
    found: list[Place] = []
    left = [tree]
    while left:
        one = left.pop()
        items = list(one.items()) if isinstance(one, dict) else list(enumerate(one)) if isinstance(one, list) else []
        found += [(one, key) for key, _ in items]
        left += [value for _, value in items]
    return found


def _mutate_one(places: list[Place], rng: random.Random) -> None:
    holder, key = rng.choice(places)
    value = holder[key]
    kind = rng.randrange(10)
    if kind < 3:
        holder[key] = odd(rng)
    elif kind == 3:
        del holder[key]
    elif kind == 4:
        other, other_key = rng.choice(places)
        holder[key] = copy.deepcopy(other[other_key])
    elif kind == 5 and isinstance(holder, dict):
        holder[rng.choice(TEXTS)] = holder.pop(key)
    elif kind == 6 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(value))
    elif kind == 7 and isinstance(holder, dict):
        holder[str(rng.choice(places)[1])] = copy.deepcopy(value)
    else:
        holder[key] = _tweaked(value, rng)


def _tweaked(value: Tree, rng: random.Random) -> Tree:
    """Return a value near ``value``, of its kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice((value + 1, value - 1, -value, value * 2, value * 1000, str(value), float(value)))
    if isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        return rng.choice((value[:at], value[at:], value[:at] + rng.choice(TEXTS) + value[at:], value * 2,
                           value.upper(), [value]))  # fmt: skip
    return rng.choice((str(value), [value], {"": value}))


def _mutated_lines(body: bytes, other: bytes, rng: random.Random) -> bytes:
    lines, others = body.split(b"\n"), other.split(b"\n")
    at = rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, rng.choice((*lines, *others)))
    elif kind == 2:
        del lines[at:]
    else:
        rng.shuffle(lines)
    return b"\n".join(lines)


def _mutated_bytes(body: bytes, other: bytes, rng: random.Random) -> bytes:
    at, till = sorted((rng.randrange(len(body) + 1), rng.randrange(len(body) + 1)))
    till = min(till, at + rng.choice((1, 2, 8, 64, 4096)))
    kind = rng.randrange(6)
    if kind == 0:
        return body[:at] + body[till:]
    if kind == 1:
        return body[:at] + body[at:till] * rng.choice((2, 3, 50)) + body[till:]
    if kind == 2:
        return body[:at] + rng.choice(BYTES) + body[till:]
    if kind == 3:
        return body[:at] + rng.choice(TEXTS).encode(errors="surrogatepass") + body[at:]
    if kind == 4:
        return body[:at] + bytes([rng.randrange(256)]) + body[at + 1 :]
    start = rng.randrange(len(other) + 1)
    return body[:at] + other[start : start + rng.choice((8, 64, 1024))] + body[till:]


def _loaded(form: Form, body: bytes) -> Tree:
    try:
        return yaml.safe_load(body) if form == "yaml" else json.loads(body)
    except ValueError:
        return {}


def _dumped_json(tree: Tree, rng: random.Random) -> bytes:
    return json.dumps(tree, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 2))).encode(
        errors=rng.choice(("replace", "surrogatepass"))
    )
