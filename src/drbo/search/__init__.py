"""The search: propose DAGs, evaluate them, and learn from their scores."""
