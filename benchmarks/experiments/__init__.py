"""Experiments, declared as data sets, methods and seeds, and run cell by cell."""

from benchmarks.experiments.catalogue import EXPERIMENTS, Experiment, Plan

__all__ = ["EXPERIMENTS", "Experiment", "Plan"]
