"""Penalties that leave few edges among independent columns, found by shuffling the columns of a table."""
