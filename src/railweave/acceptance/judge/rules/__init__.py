"""The rules of the judge, one a module: importing it registers it."""
