"""Rows with a time: which moments there are, and the window of past rows that stands beside every row."""
