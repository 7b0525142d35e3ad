"""Reports of runs of ranks: calls, waits and their causes, messages, critical path; exports to other tools."""

from fabricsim.ranks.goal import write_goal
from fabricsim.ranks.log import RunLog
from fabricsim.ranks.paraver import write_paraver
from fabricsim.ranks.perfetto import write_perfetto
from fabricsim.ranks.recorder import Recorder
from fabricsim.ranks.report import RankReport, report_of

__all__ = [
    "RankReport",
    "Recorder",
    "RunLog",
    "report_of",
    "write_goal",
    "write_paraver",
    "write_perfetto",
]
