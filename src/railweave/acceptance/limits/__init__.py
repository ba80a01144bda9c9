"""Limits of acceptance tests, computed from the design; each has a formula over named inputs."""
