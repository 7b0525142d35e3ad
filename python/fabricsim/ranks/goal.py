"""GOAL schedule of a run of ranks: what its program does, without the times of the network that it ran on.

Operations of a rank start in the order of the program. What follows a computation waits for its end; what follows a
call that found a message complete, for the end of that one. So a replay lets messages and computations overlap as the
program does, on any network.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fabricsim.errors import InputError, StoreError
from fabricsim.ranks.log import CALC, POST, SEND, RankLog, Receive, RunLog, Send

_OTHER_TAGS = 1 << 31
"""Tags from here on are of messages outside COMM_WORLD's point-to-point messages."""
_PS_IN_NS = 1000


class _Tags:
    """One tag for each context and tag of a run: GOAL has no contexts."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], int] = {}

    def of(self, context: int, tag: int) -> int:
        """The tag in the schedule."""
        if context == 0:
            return tag
        return self._known.setdefault((context, tag), _OTHER_TAGS + len(self._known))


def write_goal(log: RunLog, path: Path | str, *, force: bool = False) -> None:
    """Writes a run as a GOAL schedule, as text. Messages must be paired.

    Args:
        log: record of a complete run.
        path: the file.
        force: True if a file that exists is replaced.

    Raises:
        InputError: the file exists, or a message was not received.
        StoreError: the file cannot be written.
    """
    tags = _Tags()
    lines = [f"num_ranks {len(log.ranks)}"]
    for rank in log.ranks:
        for send in rank.sends:
            if send.receive is None:
                raise InputError(
                    f"rank {send.rank} sent {send.bytes} B with tag {send.tag} to rank {send.dest}, which did not "
                    "receive them: a replay of such a schedule would not end"
                )
        lines += ["", f"rank {rank.rank} {{", *_rank(rank, tags), "}"]
    try:
        with Path(path).open("w" if force else "x", encoding="utf-8") as target:
            target.write("\n".join(lines) + "\n")
    except FileExistsError:
        raise InputError(f"{path}: this exists; choose another file, or replace it with --force") from None
    except OSError as error:
        raise StoreError(f"{path}: it cannot be written: {error.strerror}") from error


def _rank(rank: RankLog, tags: _Tags) -> Iterator[str]:
    frontier = _Frontier()
    computed = written = 0
    for number, (kind, what) in enumerate(rank.steps):
        if kind == CALC:
            assert isinstance(what, int)
            computed += what
            # Rounded in sum, so that a rank's computations are right to a nanosecond however many there are.
            duration = round(computed / _PS_IN_NS) - written
            written += duration
            if duration:
                yield f"s{number}: calc {duration}"
                yield from frontier.follow(number, ends=True)
        elif kind == SEND:
            assert isinstance(what, Send)
            tag = tags.of(what.context, what.tag)
            yield f"s{number}: send {what.bytes}b to {what.dest} tag {tag}"
            yield from frontier.follow(number, ends=False)
        elif kind == POST:
            assert isinstance(what, Receive)
            if what.is_peek or what.is_cancelled or what.send is None:
                continue
            tag = tags.of(what.context, what.tag)
            yield f"s{number}: recv {what.send.bytes}b from {what.source} tag {tag}"
            yield from frontier.follow(number, ends=False)
        elif isinstance(what, Send) or (isinstance(what, Receive) and what.send is not None):
            frontier.ended(what.step)


class _Frontier:
    """Operations for which the next one of a rank waits."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._starts: int | None = None

    def follow(self, number: int, ends: bool) -> Iterator[str]:
        """Dependences of an operation, for whose end or start all later ones of the rank wait."""
        for one in self._ends:
            yield f"s{number} requires s{one}"
        if self._starts is not None and self._starts not in self._ends:
            yield f"s{number} irequires s{self._starts}"
        self._ends, self._starts = ([number], None) if ends else ([], number)

    def ended(self, number: int) -> None:
        """The program found a message complete."""
        self._ends.append(number)
