"""A time axis on which long times without events are short."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

LONG = 100.0
"""A time without events is shortened if it is longer than the median of all times between events by this factor."""
SHOWN = 6.0
"""How many times the median it is then."""
_FEWEST = 4


@dataclass(frozen=True)
class Break:
    """A time without events that is shown shorter than it is."""

    begin: float
    end: float


class BrokenAxis:
    """Places of times: the same as the times up to the first break."""

    def __init__(self, times: Iterable[float]) -> None:
        self._times = sorted(set(times))
        gaps = [after - before for before, after in zip(self._times, self._times[1:], strict=False)]
        median = sorted(gaps)[len(gaps) // 2] if len(gaps) >= _FEWEST else float("inf")
        self.breaks = [
            Break(before, before + gap)
            for before, gap in zip(self._times, gaps, strict=False)
            if gap > LONG * median
        ]
        self._shown = SHOWN * median
        """Length of a break."""

    def place(self, time: float) -> float:
        """Where a time is shown."""
        number = bisect_right([one.begin for one in self.breaks], time)
        before = sum(one.end - one.begin - self._shown for one in self.breaks[: max(number - 1, 0)])
        if number == 0:
            return time
        last = self.breaks[number - 1]
        if time >= last.end:
            return time - before - (last.end - last.begin - self._shown)
        return last.begin - before + (time - last.begin) / (last.end - last.begin) * self._shown

    def parts(self) -> list[tuple[float, float]]:
        """First and last event of each part between breaks."""
        begins = [self._times[0], *(one.end for one in self.breaks)]
        ends = [*(one.begin for one in self.breaks), self._times[-1]]
        return list(zip(begins, ends, strict=True))
