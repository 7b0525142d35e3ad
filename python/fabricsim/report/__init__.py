"""A run or a sweep as one HTML page that needs nothing else."""

from fabricsim.report.page import report

__all__ = ["report"]
