"""Graphs: DAGs and their equivalence classes, ancestral graphs, adjustment sets, and where to draw the nodes."""
