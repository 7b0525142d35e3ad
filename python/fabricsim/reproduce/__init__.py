"""Published numbers and claims, held against our own."""

from fabricsim.reproduce.compute import Entry, Outcome, reproduce
from fabricsim.reproduce.expected import Figure, Quantity, RunOf, Seed, read_seed
from fabricsim.reproduce.page import write_pages

__all__ = [
    "Entry",
    "Figure",
    "Outcome",
    "Quantity",
    "RunOf",
    "Seed",
    "read_seed",
    "reproduce",
    "write_pages",
]
