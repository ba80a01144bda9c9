"""What failures cost: every single failure and every pair of them, by classes of symmetry."""
