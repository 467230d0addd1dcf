"""All that a score may know of a table: its rows, sums, counts and resamples."""
