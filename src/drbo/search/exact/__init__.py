"""Proofs: the best of all DAGs, or a bound on its score."""
