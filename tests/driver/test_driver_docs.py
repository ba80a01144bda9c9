"""The reference page tells the truth about what the driver supports."""

import re
from pathlib import Path

import pytest
from napalm.base.base import NetworkDriver

from napalm_sonic.driver import SonicDriver
from napalm_sonic.options import _SPELLED

PAGE = (Path(__file__).parents[2] / "docs/reference/napalm-sonic.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([a-z0-9_, ]+?) \| (yes|no) \|", PAGE, re.MULTILINE)
SUPPORT = {name.strip(): answer for names, answer in ROWS for name in names.split(",")}


@pytest.mark.parametrize("getter", [name for name in dir(NetworkDriver) if name.startswith("get_")])
def test_the_support_matrix_says_what_the_driver_implements(getter: str) -> None:
    implemented = getattr(SonicDriver, getter) is not getattr(NetworkDriver, getter)
    assert SUPPORT[getter] == ("yes" if implemented else "no")


def test_every_option_of_the_driver_is_described() -> None:
    assert all(f"`{name}`" in PAGE for name in _SPELLED)


def test_the_example_on_the_page_is_valid_python() -> None:
    example = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert example
    compile(example[1], "example", "exec")
