"""Drivers of other vendors are imported when they are asked for, and not before."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

DRIVERS = [("eos", "EOSDriver"), ("nxos_ssh", "NXOSSSHDriver"), ("sonic", "SonicDriver"), ("ios", "IOSDriver")]
# What a deployment imports is imported once; every name is then looked up where no other one was.
LOOK_UP = """
import os, sys, railweave.api.deployment.rollout

def apart(work):
    if os.fork() == 0:
        print(work(), flush=True)
        os._exit(0)
    if os.wait()[1]:
        sys.exit("a fork failed")

def imported():
    from napalm.junos import JunOSDriver
    return JunOSDriver.__name__

print("napalm" in sys.modules, [name for name in sys.argv[1].split() if name in sys.modules], flush=True)
import napalm
apart(imported)
for name in sys.argv[2:]:
    apart(lambda: f"{name} {napalm.get_network_driver(name).__name__}")
"""
LEFT_OUT = ("jnpr.junos", "pyeapi", "ncclient", "invoke.context", "unittest")


@pytest.fixture(scope="module")
def told() -> list[str]:
    """What a process says that imports a deployment: what else it imported, and which drivers it finds by name."""
    command = [sys.executable, "-c", LOOK_UP, " ".join(LEFT_OUT), *(name for name, _ in DRIVERS)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_deployment_imports_no_driver_of_another_vendor(told: list[str]) -> None:
    assert told[0] == "True []"


def test_a_deferred_driver_is_imported_by_its_name(told: list[str]) -> None:
    assert told[1] == "JunOSDriver"


@pytest.mark.parametrize(("name", "driver"), DRIVERS)
def test_napalm_finds_every_driver_all_the_same(told: list[str], name: str, driver: str) -> None:
    assert f"{name} {driver}" in told[2:]
