"""Maximal ancestral graphs: what a table says about causes when some of them may be hidden."""
