"""Acceptance: the tests that a fabric must pass, their limits, and the verdict on their results, from files alone."""
