"""Gaussian-process scores; they need torch."""
