"""How vtysh and bgpd refuse a line.

Source: FRR vtysh/vtysh.c (``vtysh_config_from_file``) and the messages of 8.4.4, measured.
"""

from sonic_sim.frr.grammar import BGP, CONFIG, NODE_NUMBERS

# lib/command.h
CMD_ERR_NO_MATCH = 2
CMD_ERR_INCOMPLETE = 4
CMD_WARNING_CONFIG_FAILED = 13


class RefusedLineError(Exception):
    """A line that vtysh or bgpd refuses; ``node`` is where it was given, ``daemon_text`` what bgpd says."""

    def __init__(self, status: int, node: str, daemon_text: str = "") -> None:
        """Keep why the line is refused."""
        super().__init__(daemon_text or str(status))
        self.status = status
        self.node = node
        self.daemon_text = daemon_text

    def of_file(self, number: int, line: str) -> str:
        """Return the message of ``vtysh -f`` about a line of a file; the number in brackets is FRR's for the node."""
        if self.status == CMD_WARNING_CONFIG_FAILED:
            return f"line {number}: Failure to communicate[{self.status}] to bgpd, line: {line}\n\n"
        node_number = NODE_NUMBERS.get(self.node, NODE_NUMBERS[CONFIG])
        if self.status == CMD_ERR_INCOMPLETE:
            return f"line {number}: % Command incomplete[{node_number}]: {line}\n\n"
        return f"line {number}: % Unknown command[{node_number}]: {line}\n"

    def of_prompt(self, line: str) -> str:
        """Return the message of ``vtysh -c`` about a line."""
        words = "Command incomplete" if self.status == CMD_ERR_INCOMPLETE else "Unknown command"
        return f"{self.daemon_text or f'% {words}: {line}'}\n"


def refused_by_bgpd(text: str) -> RefusedLineError:
    """Return the refusal of a line that bgpd answers with a text."""
    return RefusedLineError(CMD_WARNING_CONFIG_FAILED, BGP, text)
