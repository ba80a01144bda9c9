"""Pictures of a fabric: what is drawn, where it stands, and the formats that it is written in."""
