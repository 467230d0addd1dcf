"""Experiments that print the figures of the documentation; never imported by the package."""
