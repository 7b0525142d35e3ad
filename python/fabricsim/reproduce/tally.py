"""Counts of entries by origin and verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fabricsim.reproduce.judge import Entry
from fabricsim.reproduce.rows import ORIGINS

_TITLES = {
    "printed": "Printed numbers and claims",
    "derived": "Derived from the publication",
    "own": "Our own material",
}
_WORDS = {
    "yes": "hold",
    "sign": "have the published sign or order, and nothing more is judged",
    "calibrated": "hold with a parameter that was chosen with them at hand",
    "no": "do not hold",
}
_ASIDE = {
    "independent": "do not depend on a feature",
    "repeated": "repeat a number of another figure",
    "shown": "are shown and not judged",
}


def tally(entries: Iterable[Entry]) -> dict[str, Counter[str]]:
    """Numbers of entries by origin, then verdict; `VERDICT: no`: those that are not counted and do not hold."""
    counts: dict[str, Counter[str]] = {origin: Counter() for origin in ORIGINS}
    for entry in (entry for entry in entries if entry.listed):
        counts[entry.origin][entry.verdict] += 1
        if entry.verdict in _ASIDE and entry.holds is False:
            counts[entry.origin][f"{entry.verdict}: no"] += 1
    return counts


def headlines(entries: Iterable[Entry]) -> list[str]:
    """A sentence for each origin that has entries: counted entries, then those that are not counted."""
    lines = []
    for origin, counts in tally(entries).items():
        counted = sum(counts[verdict] for verdict in _WORDS)
        said = [f"{counts[verdict]} {words}" for verdict, words in _WORDS.items() if counts[verdict]]
        aside = [_apart(counts, verdict) for verdict in _ASIDE if counts[verdict]]
        if said or aside:
            more = f" Not counted: {', '.join(aside)}." if aside else ""
            lines.append(f"{_TITLES[origin]}: {counted}{': ' if said else ''}{'; '.join(said)}.{more}")
    return lines


def _apart(counts: Counter[str], verdict: str) -> str:
    """Entries that are not counted, with the number of those that do not hold."""
    failed = counts[f"{verdict}: no"]
    return f"{counts[verdict]} {_ASIDE[verdict]}" + (f" ({failed} of these do not hold)" if failed else "")
