"""Labs on Containerlab: a fabric as a topology of containers, scaled down where it is too large."""
