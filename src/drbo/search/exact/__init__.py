"""Proofs: the best DAG there is, or a bound on its score."""
