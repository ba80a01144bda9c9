"""Let the conformance tests import the module that replays recordings: test folders are no packages."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
