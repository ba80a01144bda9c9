"""Pictures of a fabric: what is drawn, its layout, and the file formats."""
