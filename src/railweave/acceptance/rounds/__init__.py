"""Rounds of an acceptance plan: which NIC ports send to which at the same time."""
