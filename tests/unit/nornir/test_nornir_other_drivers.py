"""Drivers of other vendors are imported when they are asked for, and not before."""

import subprocess
import sys

import pytest


def _printed(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_deployment_imports_no_driver_of_another_vendor() -> None:
    program = (
        "import sys, railweave.api.deploying\n"
        "print('napalm' in sys.modules, [name for name in ('jnpr.junos', 'pyeapi', 'ncclient') if name in sys.modules])"
    )
    assert _printed(program) == "True []"


@pytest.mark.parametrize(
    ("name", "driver"),
    [("eos", "EOSDriver"), ("nxos_ssh", "NXOSSSHDriver"), ("sonic", "SonicDriver"), ("ios", "IOSDriver")],
)
def test_napalm_finds_every_driver_all_the_same(name: str, driver: str) -> None:
    program = f"import nornir_railweave, napalm\nprint(napalm.get_network_driver({name!r}).__name__)"
    assert _printed(program) == driver


def test_a_deferred_driver_is_imported_by_its_name() -> None:
    program = "import nornir_railweave\nfrom napalm.junos import JunOSDriver\nprint(JunOSDriver.__name__)"
    assert _printed(program) == "JunOSDriver"
