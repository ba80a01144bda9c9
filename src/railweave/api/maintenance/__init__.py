"""Work on single switches: drain, replace, retire, recover, self-test."""
