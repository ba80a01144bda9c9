"""Cables of a running fabric: graded by what both ends count, and by the harm that their loss would do."""
