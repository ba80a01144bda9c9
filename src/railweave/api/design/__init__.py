"""Intents read, designed, checked and compared; no device is needed."""
