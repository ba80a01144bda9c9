"""Journals outside of the machine that deploys: a branch of a git repository, or an object store."""
