"""What is in the columns of a table, and what to do about it."""
