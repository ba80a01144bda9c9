"""Running an acceptance: when rounds start, what each node does in them, and what of a plan is left to do."""
