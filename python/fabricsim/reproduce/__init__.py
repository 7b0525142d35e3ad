"""Published numbers and claims beside our own."""

from fabricsim.reproduce.compute import Outcome, reproduce
from fabricsim.reproduce.expected import Choice, Figure, Seed, read_seed
from fabricsim.reproduce.grid import Grid, RunOf
from fabricsim.reproduce.judge import Entry
from fabricsim.reproduce.page import rejudge_pages, write_pages
from fabricsim.reproduce.record import differences, digest, read_record
from fabricsim.reproduce.rows import Cells, Quantity
from fabricsim.reproduce.tally import headlines, tally

__all__ = [
    "Cells",
    "Choice",
    "Entry",
    "Figure",
    "Grid",
    "Outcome",
    "Quantity",
    "RunOf",
    "Seed",
    "differences",
    "digest",
    "headlines",
    "read_record",
    "read_seed",
    "rejudge_pages",
    "reproduce",
    "tally",
    "write_pages",
]
