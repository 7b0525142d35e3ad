"""Runs side by side: differences of their experiments, flows and totals."""

from fabricsim.compare.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
