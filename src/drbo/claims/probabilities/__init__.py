"""Posterior probabilities of edges, and graphs drawn from the posterior."""
