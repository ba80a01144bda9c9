"""Design: from an intent to a fabric, by the mathematics of a Clos of leaves and spines."""
