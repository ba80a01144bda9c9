"""``railweave-switch``: the switch's side of a transaction. It runs there: Python 3.9, standard library only."""
