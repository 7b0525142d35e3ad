"""Packets of a run link by link: where each waited, and behind which others."""

from fabricsim.packets.delays import delays, sentences
from fabricsim.packets.events import write_trace

__all__ = ["delays", "sentences", "write_trace"]
