"""The switch's own key of digests: without it nobody guesses a secret by the digest in a plan or a journal."""

import hashlib
import hmac
import json
from dataclasses import replace

import pytest
from switch_cases import new_world, transaction
from virtual_switch import World

from napalm_sonic.reading import learned_of, reading_of
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.delta.snapshot import Snapshot
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import DeviceConfig, Row
from railweave_switch.host import DIRECTORY

KEY_FILE = f"{DIRECTORY}/digest.key"
TACACS = {"TACPLUS": {"global": {"passkey": "summer24"}}}
OWNED = DeviceConfig("leaf1", (Row("TACPLUS", "global", {"passkey": "{secret:TACACS}"}, "override"),), "")


def key_of(world: World) -> str:
    return str(world.call("read")["digest_key"])


def test_the_first_reading_makes_the_key_and_every_other_finds_it() -> None:
    world = new_world()
    key = key_of(world)
    assert (len(key), world.files[KEY_FILE]) == (64, key.encode())
    world.reboot()
    assert key_of(world) == key
    assert key_of(new_world()) != key


@pytest.mark.parametrize("damaged", [b"", b"\xff" * 64, b"0" * 63])
def test_a_damaged_key_is_made_anew(damaged: bytes) -> None:
    world = new_world()
    world.files[KEY_FILE] = damaged
    key = key_of(world)
    assert len(key) == 64
    assert key_of(world) == key


def test_without_room_for_the_key_no_digest_matches_another() -> None:
    world = new_world()
    world.disk_full = True
    assert key_of(world) != key_of(world)


def test_what_is_learned_of_a_switch_keeps_its_key() -> None:
    world = new_world()
    before = world.call("read")
    read = reading_of("leaf1", before, None)
    assert read.running.digest_key == key_of(world)
    known = {"config": before["config"]["digest"], "frr": before["frr"]["digest"]}
    again = reading_of("leaf1", world.call("read", "--config", known["config"], "--frr", known["frr"]), read)
    assert again.running is read.running
    learned = learned_of("leaf1", world.send("apply", transaction()), read)
    assert learned is not None
    assert learned.running != read.running
    assert learned.running.digest_key == read.running.digest_key
    other = reading_of("leaf1", {**before, "digest_key": "f" * 64}, read)
    assert other.running.digest_key == "f" * 64


def test_a_secret_cannot_be_guessed_by_a_digest_without_the_key() -> None:
    running = RunningConfig(TACACS, "", digest_key="a" * 64)
    kept = running_sha256(running, OWNED)
    guessed = json.dumps([[["TACPLUS", "global", TACACS["TACPLUS"]["global"]]], [], False], separators=(",", ":"))
    assert running_sha256(RunningConfig(TACACS, ""), OWNED) == hashlib.sha256(guessed.encode()).hexdigest()
    assert kept == hmac.new(b"a" * 64, guessed.encode(), hashlib.sha256).hexdigest()
    assert kept not in {running_sha256(replace(running, digest_key=one), OWNED) for one in ("", "b" * 64)}


def test_a_snapshot_is_recognized_by_the_key_of_its_switch() -> None:
    running = RunningConfig(TACACS, "", digest_key="a" * 64)
    assert running.frr_document is not None
    snapshot = Snapshot({}, running.frr_document, OWNED, running_sha256(running, OWNED))
    assert snapshot.missing(running) == ()
    assert snapshot.is_reached_from(running)
    assert not snapshot.is_reached_from(replace(running, digest_key="b" * 64))
