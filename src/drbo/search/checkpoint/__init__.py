"""Saved searches: when they are written, their files, and how they are read back."""
