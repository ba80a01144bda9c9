"""The databases of SONiC that the program on a switch reads."""

import inspect
import re
from importlib import import_module
from pkgutil import iter_modules

import railweave_switch
from railweave_switch import redis


def test_every_database_that_the_program_names_has_a_number() -> None:
    modules = [import_module(f"railweave_switch.{one.name}") for one in iter_modules(railweave_switch.__path__)
               if one.name != "__main__"]  # fmt: skip
    named = {name for module in modules for name in re.findall(r'"([A-Z]+_DB)"', inspect.getsource(module))}
    assert named
    assert named == redis._DATABASES.keys()
