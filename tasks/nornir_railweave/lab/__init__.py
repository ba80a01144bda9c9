"""The laboratory: rendered nodes as containers of Containerlab."""
