"""Cables: which medium joins two ports, and the cabling list."""
