"""FRR's configuration as vtysh shows it: contexts, lines, what ``no`` removes, and the order of the output."""
