"""Checks over intent, fabric and configuration; each returns diagnostics."""
