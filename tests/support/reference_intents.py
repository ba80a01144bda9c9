"""The intents that come with the project. They are named, because users save their own beside them in `intent/`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    "generations", "lab-4", "lab-dual", "lab-ipv6", "lab-pods", "minimal", "mixed-nodes", "pod-32", "pod-32-wide",
    "pods-512",
)  # fmt: skip
REFERENCE_INTENTS = [ROOT / "intent" / f"{name}.yml" for name in NAMES]
