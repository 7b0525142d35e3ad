"""Traces of MPI programs: read in several formats, replayed on networks, written as GOAL schedules.

`Trace.read("run.goal", "goal").replay("loggp:L=1000,o=100,g=10,G=0").end_ns` is the time that the program takes there.
"""

from fabricsim.traces.jobs import Jobs
from fabricsim.traces.player import Player, play
from fabricsim.traces.records import Record, write_records
from fabricsim.traces.trace import FORMATS, Replay, Trace

__all__ = ["FORMATS", "Jobs", "Player", "Record", "Replay", "Trace", "play", "write_records"]
