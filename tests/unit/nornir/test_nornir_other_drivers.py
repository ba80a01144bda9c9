"""Drivers of other vendors are imported when they are asked for, and not before."""

import subprocess
import sys

import pytest

DRIVERS = [("eos", "EOSDriver"), ("nxos_ssh", "NXOSSSHDriver"), ("sonic", "SonicDriver"), ("ios", "IOSDriver")]
# What all have in common is imported once; every name is then looked up where no other one was.
LOOK_UP = """
import os, sys, nornir_railweave, napalm
for name in sys.argv[1:]:
    if os.fork() == 0:
        print(name, napalm.get_network_driver(name).__name__, flush=True)
        os._exit(0)
    if os.wait()[1]:
        sys.exit(name)
"""


def _printed(program: str, *words: str) -> str:
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_deployment_imports_no_driver_of_another_vendor() -> None:
    program = (
        "import sys, railweave.api.deploying\n"
        "print('napalm' in sys.modules, [name for name in ('jnpr.junos', 'pyeapi', 'ncclient') if name in sys.modules])"
    )
    assert _printed(program) == "True []"


@pytest.fixture(scope="module")
def found() -> list[str]:
    """What NAPALM finds by the names of drivers, each in a process that has looked for no other."""
    return _printed(LOOK_UP, *(name for name, _ in DRIVERS)).splitlines()


@pytest.mark.parametrize(("name", "driver"), DRIVERS)
def test_napalm_finds_every_driver_all_the_same(found: list[str], name: str, driver: str) -> None:
    assert f"{name} {driver}" in found


def test_a_deferred_driver_is_imported_by_its_name() -> None:
    program = "import nornir_railweave\nfrom napalm.junos import JunOSDriver\nprint(JunOSDriver.__name__)"
    assert _printed(program) == "JunOSDriver"
