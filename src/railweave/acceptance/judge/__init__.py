"""The verdict on an acceptance: rules over results and counters, and what is to blame for what they find."""
