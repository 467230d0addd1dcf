"""The only code that spends budget: true scores, cached by family, computed here or by workers."""
