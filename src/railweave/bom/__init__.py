"""What a fabric is bought of: switches, NICs, transceivers and cables, counted from its graph."""
