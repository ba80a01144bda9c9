"""Comparing the files that a consumer has with what the intent gives."""
