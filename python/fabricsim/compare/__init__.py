"""Runs side by side: what their experiments differ in, and what that does to flows and totals."""

from fabricsim.compare.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
