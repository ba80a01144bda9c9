"""One module for each rule of `railweave health`."""
