"""Runs as one page with the network in its own coordinates, its links coloured over time."""

from fabricsim.viewer.page import view

__all__ = ["view"]
