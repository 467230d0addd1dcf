"""From the best graph of a search to a result: effects, files, tables, pictures and the report."""
