"""The search: propose DAGs, evaluate them, learn from what they scored."""
