"""Acceptance of a fabric: the tests that it must pass, and the verdict on their results, from files alone."""

from railweave.acceptance.document import ReadPlan, read_plan

__all__ = ["ReadPlan", "read_plan"]
