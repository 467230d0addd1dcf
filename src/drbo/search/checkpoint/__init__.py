"""A saved search: when it is written, its files, and how it is read back."""
