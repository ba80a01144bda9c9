"""Pages, pictures, parts lists and comparisons of fabrics."""
