"""Which score and which penalty fit a table."""
