"""Fits of other rows or with other seeds, and how often each edge returns."""
