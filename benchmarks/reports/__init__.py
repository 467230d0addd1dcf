"""Pages and figures of the docs, made from the rows; nothing is measured here."""
