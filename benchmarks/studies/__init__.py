"""Questions that are not a grid of methods and data sets: each module measures one and yields rows."""
