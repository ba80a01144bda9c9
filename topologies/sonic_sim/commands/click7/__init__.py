"""The click of SONiC's programs: version 7.0, here with the texts and habits of 7.0 on a current click.

SONiC pins click 7.0 (sonic-utilities, setup.py). Later versions word usage errors and help otherwise; all of that is
put right here and nowhere else. A program is a tree of groups that is built once; each run of it has a `Run` as the
object of its context, which holds the switch and collects what is printed.
"""

from sonic_sim.commands.click7.groups import Command, Group, GroupOfModules, PlainGroup, with_run
from sonic_sim.commands.click7.parameters import Argument, Choice, Integer, Range, argument, flag, option
from sonic_sim.commands.click7.program import PLAIN_HELP, run
from sonic_sim.commands.click7.program_run import Run

__all__ = [
    "PLAIN_HELP",
    "Argument",
    "Choice",
    "Command",
    "Group",
    "GroupOfModules",
    "Integer",
    "PlainGroup",
    "Range",
    "Run",
    "argument",
    "flag",
    "option",
    "run",
    "with_run",
]
