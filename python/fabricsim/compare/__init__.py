"""Runs side by side: differences of their experiments, flows and totals."""

from fabricsim.compare.comparison import Comparison, compare
from fabricsim.compare.repeated import RepeatedComparison, compare_repeated, is_set, is_sweep

__all__ = ["Comparison", "RepeatedComparison", "compare", "compare_repeated", "is_set", "is_sweep"]
