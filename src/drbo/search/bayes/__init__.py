"""The search for expensive scores: proposals from a Gaussian-process surrogate of the local scores."""
