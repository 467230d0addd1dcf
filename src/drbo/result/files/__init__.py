"""Results and graphs as files."""
