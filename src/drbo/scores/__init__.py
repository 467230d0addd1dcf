"""Scores: how well a node is explained by a set of parents, and how the parts add up."""
