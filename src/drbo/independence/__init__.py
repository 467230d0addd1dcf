"""Tests of independence: of residuals, and of columns."""
