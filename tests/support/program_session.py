"""A session to a ``virtual_switch.World``: each command is a call of the real switch program in this process."""

import shlex
from dataclasses import dataclass

from virtual_switch import World

from napalm_sonic.session import Completed, Session
from railweave_switch import main

_SUDO = "sudo -n "


@dataclass
class ProgramSession(Session):
    """Open or closed, as told; what a command does is ``call``."""

    is_open: bool = False

    def close(self) -> None:
        self.is_open = False

    def alive(self) -> bool:
        return self.is_open

    def answers(self) -> bool:
        return self.is_open

    @staticmethod
    def words(command: str) -> list[str]:
        """Return the words of a call of the switch program, without the digest of the program that is expected."""
        words = shlex.split(command.removeprefix(_SUDO))[1:]
        if "--expect" in words:
            place = words.index("--expect")
            return [*words[:place], *words[place + 2 :]]
        return words

    @staticmethod
    def is_cat(command: str) -> bool:
        return command.removeprefix(_SUDO).startswith("cat ")

    def call(self, world: World, command: str, words: list[str], data: bytes) -> Completed:
        """Return the answer of the program on a switch, or of ``cat``."""
        if self.is_cat(command):
            return Completed(command, 0, world.files[words[0]].decode(), "")
        host = world.start("foreground")
        status, answer = main.run(host, words, lambda: data)
        host.process.alive = False
        return Completed(command, status, answer, "")
