"""Rows of the QoS and buffer templates of an image, SKU by SKU."""
