"""What is known of hardware: switch models, NICs, media and PCIe slots, each a data file with its source."""
