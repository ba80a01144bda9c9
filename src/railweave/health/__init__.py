"""What is wrong with a fabric that runs: two readings of every switch and its state, judged by rules."""
