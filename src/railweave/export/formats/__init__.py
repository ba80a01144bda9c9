"""The export formats, one module each with its ``FORMAT``; ``export.registry`` lists them."""
