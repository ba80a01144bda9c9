"""Secrets by reference: named in intent, templates and inventory, resolved in memory, never in a file or an output."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from counted_fabric import Counted, deployed_fabric
from in_process import run_here

from nornir_railweave.target.model import SecretSource, Source, Target
from nornir_railweave.target.reach import resolve
from nornir_railweave.target.secret_store import SecretStore
from nornir_railweave.target.target_file import parse_target
from railweave.diagnostics import Where
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.secrets import reference, references, with_secrets
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.secret_rows import as_running, resolved
from railweave.sonic.rows import DeviceConfig, Row

ROOT = Path(__file__).resolve().parents[3]
INTENT = Path("intent/pod-32.yml")
VALUE = "Mark-9f3c-tacacs"
OVERRIDES = "overrides: {leaf: {TACPLUS: {global: {passkey: {secret: TACACS}}}}}\n"
HERE = Where("intent.yml", 3, 5)


def store(environ: dict[str, str] | None = None, **sources: SecretSource) -> SecretStore:
    return SecretStore(Target("t", Source.SIM, secrets=sources), environ or {})


def test_a_reference_is_found_in_a_text_and_filled_in() -> None:
    text = f"neighbor X password {reference('BGP-1')} {{secret: other}}"
    assert references(text) == ("BGP-1", "other")
    assert with_secrets(text, {"BGP-1": "v"}) == "neighbor X password v {secret: other}"
    assert references("{secret}") == references("{secret:}") == references("secret: X") == ()


@pytest.mark.parametrize("source", ["env", "file", "command"])
def test_a_secret_comes_from_the_environment_a_file_or_a_command(source: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"{VALUE}\n")
    sources = {
        "env": SecretSource(env="TAC"),
        "file": SecretSource(file=tmp_path / "file"),
        "command": SecretSource(command=("cat", str(tmp_path / "file"))),
    }
    found = store({"TAC": VALUE}, NAME=sources[source])
    assert found.required("NAME") == VALUE
    assert VALUE not in repr(found)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (None, "the target does not say where it comes from"),
        (SecretSource(env="TAC"), "the environment variable TAC is not set"),
        (SecretSource(env="EMPTY"), "what was found is empty, or more than one line"),
        (SecretSource(env="LINES"), "what was found is empty, or more than one line"),
        *[
            (SecretSource(env=name), "what was found holds control characters, or bytes that are not UTF-8")
            for name in ("RETURN", "ESCAPE", "LATIN")
        ],
        (
            SecretSource(env="SHORT"),
            "its value has fewer than 6 characters, too few to be hidden wherever it is quoted",
        ),
        (SecretSource(file=Path("/nowhere/x")), "/nowhere/x: No such file or directory"),
        (SecretSource(command=("/nowhere/sops",)), "`/nowhere/sops` cannot be run: No such file or directory"),
        (SecretSource(command=("sh", "-c", f"echo {VALUE}; echo {VALUE} >&2; exit 3")), "`sh` ended with status 3"),
    ],
)
def test_a_missing_secret_says_why_and_nothing_of_it(source: SecretSource | None, why: str) -> None:
    values = {"EMPTY": "", "LINES": "a\nb", "SHORT": "5char"}
    values |= {"RETURN": "Mark\rline", "ESCAPE": "Mark\x1b[2J", "LATIN": "Mark-\udce9-Mark"}
    found = store(values, **({"NAME": source} if source else {}))
    (missing,) = found.missing({"NAME": HERE})
    assert (missing.code, missing.where) == ("RW603", HERE)
    assert missing.message == f"secret NAME cannot be resolved: {why}"
    assert VALUE not in str(missing)


def config() -> DeviceConfig:
    rows = (
        Row("SNMP_COMMUNITY", reference("READ"), {"TYPE": "RO"}, ""),
        Row("TACPLUS", "global", {"passkey": reference("TAC"), "timeout": "5"}, ""),
    )
    return DeviceConfig("leaf1", rows, f"router bgp 1\n neighbor X password {reference('BGP')}\nexit\n")


def test_a_configuration_is_filled_in_with_what_is_known() -> None:
    found = resolved(config(), {"READ": "public", "TAC": VALUE})
    assert found.config_db()["SNMP_COMMUNITY"] == {reference("READ"): {"TYPE": "RO"}}, "a key would be shown"
    assert found.config_db()["TACPLUS"]["global"] == {"passkey": VALUE, "timeout": "5"}
    assert found.frr == config().frr
    assert resolved(config(), {"BGP": VALUE}).frr == f"router bgp 1\n neighbor X password {VALUE}\nexit\n"
    shown = replace(config(), frr=f"router bgp 1\n neighbor X description {reference('BGP')}\nexit\n")
    assert resolved(shown, {"BGP": VALUE}) == shown
    assert resolved(found, {}) == found


def test_what_nobody_here_knows_is_taken_to_be_what_runs() -> None:
    running = RunningConfig(
        {"TACPLUS": {"global": {"passkey": VALUE, "timeout": "9"}}},
        "router bgp 1\n neighbor Y password y\n neighbor X password x\nexit\n",
    )
    found = as_running(config(), running)
    assert found.config_db()["TACPLUS"]["global"] == {"passkey": VALUE, "timeout": "5"}
    assert found.frr == "router bgp 1\n neighbor X password x\nexit\n"
    assert as_running(config(), RunningConfig({}, "")).config_db() == config().config_db()


def target(text: str) -> Target:
    return parse_target(f"source: addresses\naddress: '{{name}}'\n{text}", "t.yml", "t")


def test_a_login_takes_its_password_by_name(fabric: Fabric) -> None:
    made = target("ssh: {password: {secret: LOGIN}}\nsecrets: {LOGIN: {env: WHERE}}")
    assert resolve(fabric, made, Path(), {"WHERE": VALUE})["pod1-leaf1"].password == VALUE
    with pytest.raises(RefusedError, match="secret LOGIN cannot be resolved: the environment variable WHERE"):
        resolve(fabric, made, Path(), {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ssh: {password: hunter2}", "`password` would put a secret into a file"),
        ("secrets: {A: {env: X, file: y}}", "A comes from one place"),
        ("secrets: {A: {}}", "A comes from one place"),
        ("secrets: {'a b': {env: X}}", "invalid secret name 'a b'"),
        ("secrets: {A: {environment: X}}", "unknown key `environment`"),
    ],
)
def test_a_target_states_one_source_of_a_secret_and_never_the_secret(text: str, said: str) -> None:
    with pytest.raises(RefusedError) as refused:
        target(text)
    assert said in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    from railweave.catalog.load import load_catalog
    from railweave.design.build import design

    made = design(load_intent_text((ROOT / INTENT).read_text(), "pod.yml"), load_catalog()).fabric
    assert made is not None
    return made


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Counted]]:
    folder = tmp_path_factory.mktemp("by-reference")
    with deployed_fabric(folder, INTENT.name) as counted:
        with (folder / INTENT).open("a") as file:
            file.write(OVERRIDES)
        yield folder, counted


def railweave(folder: Path, *words: str, **environ: str) -> Any:
    done = run_here([*words, str(INTENT)], folder, {**os.environ, **environ}, 300)
    assert VALUE not in done.stdout + done.stderr
    return done


def no_file_holds_it(folder: Path) -> None:
    assert [path for path in folder.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()] == []


@pytest.mark.slow
def test_an_intent_names_a_secret_that_goes_through_the_channel_of_the_switch_alone(
    project: tuple[Path, Counted],
) -> None:
    folder, counted = project
    assert railweave(folder, "render", "--out", "build").returncode == 0
    leaf = json.loads((folder / "build/switches/pod1-leaf1/config_db.json").read_text())
    assert leaf["TACPLUS"] == {"global": {"passkey": "{secret:TACACS}"}}

    # Missing: refused with its place before the first login.
    counted.clear()
    refused = railweave(folder, "deploy", "--target", "sim", "--yes")
    said = " ".join(refused.stderr.split())
    assert refused.returncode == 1
    assert re.search(r"intent/pod-32\.yml:\d+:\d+.*RW603|RW603.*intent/pod-32\.yml:\d+", said), said
    assert "secret TACACS cannot be resolved: the target does not say where it comes from" in said
    assert counted.asked == {}

    with (folder / "inventory/sim.yml").open("a") as file:
        file.write("secrets: {TACACS: {env: TACACS_KEY}}\n")
    assert railweave(folder, "plan", "--target", "sim", "--out", "plan.json", TACACS_KEY=VALUE).returncode == 0
    changes = json.loads((folder / "plan.json").read_text())["changes"]
    assert {(one["table"], one["key"]) for one in changes} == {("TACPLUS", "global")}
    assert railweave(folder, "deploy", "--target", "sim", "--yes", TACACS_KEY=VALUE).returncode == 0
    assert not [line for lines in counted.commands.values() for line in lines if VALUE in line], (
        "no process list has it"
    )
    no_file_holds_it(folder)

    # Who does not know it plans without it; another value is a change that shows neither.
    blind = railweave(folder, "plan", "--target", "sim", "--json")
    assert (blind.returncode, json.loads(blind.stdout)["changes"]) == (0, [])
    assert "warning" in blind.stderr
    assert "TACACS" in blind.stderr
    known = railweave(folder, "plan", "--target", "sim", "--json", TACACS_KEY=VALUE)
    assert json.loads(known.stdout)["changes"] == []
    other = json.loads(railweave(folder, "plan", "--target", "sim", "--json", TACACS_KEY="another").stdout)["changes"]
    assert {(one["before"], one["after"]) for one in other} == {("(hidden)", "(hidden)")}
    assert len(other) == 4


def test_a_reference_in_a_field_that_is_shown_is_refused(project: tuple[Path, Counted]) -> None:
    folder, _ = project
    odd = folder / "intent/odd.yml"
    text = (folder / INTENT).read_text().replace("passkey:", "timeout:")
    odd.write_text(text)
    done = run_here(["check", str(odd)], folder, os.environ, 60)
    odd.unlink()
    assert done.returncode == 1
    assert "cannot hold a secret" in " ".join((done.stdout + done.stderr).split())
