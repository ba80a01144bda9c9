#!/usr/bin/python3 -IS
"""What vrnetlab's common/healthcheck.py answers to Docker: the status that the launch wrote."""

import sys
from pathlib import Path

status, _, words = Path("/health").read_text().partition(" ")
print(words)
sys.exit(int(status))
