"""Hardware facts as data files: switch models, NICs, media and PCIe slots, each with its source."""
