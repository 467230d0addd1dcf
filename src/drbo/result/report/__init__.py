"""The report: one HTML file that explains a result, offline and without a server."""
