"""Published numbers and claims, held against our own."""

from fabricsim.reproduce.compute import Outcome, reproduce
from fabricsim.reproduce.expected import Cells, Figure, Quantity, Seed, read_seed
from fabricsim.reproduce.grid import Grid, RunOf
from fabricsim.reproduce.judge import Entry
from fabricsim.reproduce.page import write_pages

__all__ = [
    "Cells",
    "Entry",
    "Figure",
    "Grid",
    "Outcome",
    "Quantity",
    "RunOf",
    "Seed",
    "read_seed",
    "reproduce",
    "write_pages",
]
