"""The report of a fabric: one page that needs nothing else to be read, with everything that is known of a design."""
