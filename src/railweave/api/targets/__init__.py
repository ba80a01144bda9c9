"""Targets: live fabrics, their phases, host keys, and the workers that reach switches."""
