"""Plans: what changes on which device, how disruptive, by which method, in which order."""
