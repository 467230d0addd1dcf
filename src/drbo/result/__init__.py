"""From the best graph of a search to an answer: pruning, weights, files, tables and pictures."""
