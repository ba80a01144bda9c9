"""The programs of a simulated switch, a module a family, each registered once."""
