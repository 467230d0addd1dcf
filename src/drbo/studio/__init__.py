"""The studio: one local page to see a graph, say what is known, and see what that costs."""
