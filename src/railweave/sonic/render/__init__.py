"""Rows of CONFIG_DB and FRR text of a fabric's switches, each with its reason."""
