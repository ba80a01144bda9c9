"""Designs side by side: the figures by which people choose between fabrics."""
