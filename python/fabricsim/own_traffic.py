"""Runs whose messages are given one by one: a data frame, or anything that can be iterated over."""

from __future__ import annotations

import csv
import difflib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricsim.durations import seconds
from fabricsim.errors import InputError
from fabricsim.frames import missing
from fabricsim.lazy import pandas as pd
from fabricsim.memory import Allowance
from fabricsim.programs.context import picoseconds
from fabricsim.results import Result
from fabricsim.run import stored
from fabricsim.session import Session
from fabricsim.shown import number_of
from fabricsim.spec import Experiment, as_experiment
from fabricsim.store import Reservation

__all__ = ["COLUMNS", "run_messages"]

COLUMNS = ("at", "source", "destination", "size")
"""Columns of messages; `traffic` may follow."""
MESSAGES_FILE = "messages.csv"
"""Name of the messages' file in a run folder."""
ENTRY = "messages"
"""Name of the traffic entry that given messages belong to."""
NEVER = "8000000 s"
"""Begin of that entry's own messages: after the end of any run."""


def run_messages(
    experiment: str | Path | Experiment,
    messages: Any,
    *,
    set: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    memory: str | int | Allowance | None = None,
) -> Result:
    """Runs an experiment with given messages, in addition to its own traffic.

    A message is created at its time and waits at its source behind those that were created before, as any other. The
    run has a traffic entry `messages`, to which they belong. With `out` the folder has them as `messages.csv`.

    Args:
        experiment: an experiment file, or an `Experiment`. It may have no traffic of its own.
        messages: a data frame with the columns `at` (nanoseconds, or texts such as "3 us"), `source`, `destination`
            (names of hosts) and `size` (bytes, or texts such as "4 KiB"), and, as wanted, `traffic`, the name of
            another entry whose service class they have, and no other columns; or tuples of these, of a generator for
            example, in any order of time.
        set: values to replace, by key.
        out: write a run folder there.
        force: replace a run folder that exists.
        memory: most memory of the process, such as "16 GiB"; by default what the machine has.

    Raises:
        InputError: the experiment is wrong, or a message, whose number is named; or the folder exists.
        NotStoredError: the folder could not be written after the run; the results went to another one.
    """
    experiment = _with_entry(as_experiment(experiment, set))
    reservation = None if out is None else Reservation(out, force=force)
    try:
        with Session(experiment, memory=memory) as session:
            times, kept = _inject(session, messages, keep=reservation is not None)
            session.advance_to_end()
            result = session.result()
        _set_warnings(result, times)
        if reservation is None:
            return result
        _write(reservation.staging / MESSAGES_FILE, kept)
        result.manifest["messages"] = {"file": MESSAGES_FILE, "number": len(kept)}
        return stored(result, reservation)
    finally:
        if reservation is not None:
            reservation.discard()


def _with_entry(experiment: Experiment) -> Experiment:
    traffic = experiment.written().get("traffic", [])
    if not isinstance(traffic, list) or any(
        isinstance(e, Mapping) and e.get("name") == ENTRY for e in traffic
    ):
        raise InputError(f'run_messages: the experiment has a traffic entry "{ENTRY}": give it another name')
    entry = {
        "name": ENTRY,
        "pattern": "uniform",
        "injection": "constant",
        "load": 0.1,
        "message": "1 KiB",
        "start": NEVER,
    }
    return experiment.with_values({"traffic": [*traffic, entry]})


def _set_warnings(result: Result, times: Sequence[int]) -> None:
    """Warns of messages after the end of a completed run, and not of the entry, whose own messages never begin."""
    summary = result.manifest["summary"]
    own = f"traffic.{ENTRY} sends nothing"
    warnings = [text for text in summary.get("warnings") or () if not text.startswith(own)]
    late = sum(time > summary["simulated_s"] * 1e12 for time in times)
    if late and result.status == "ok":
        end = seconds(summary["simulated_s"])
        warnings.append(
            f"{late:,} of {number_of(len(times), 'message')} not sent: after the end of the run at {end}"
        )
    summary["warnings"] = warnings


def _inject(session: Session, messages: Any, *, keep: bool) -> tuple[Sequence[int], list[Sequence[Any]]]:
    """Gives the messages to the session. Returns their times in picoseconds, and with `keep` the messages."""
    kept: list[Sequence[Any]] = []
    times = array("q")
    for number, row in enumerate(_read(messages)):
        at, source, destination, size = row[:4]
        try:
            for name, host in (("source", source), ("destination", destination)):
                if not isinstance(host, str):
                    raise InputError(f"{name} = {host!r}: must be the name of a host")
            traffic = _entry(row[4]) if len(row) > 4 else ENTRY
            # The session takes None as now.
            time = picoseconds("at", _plain(at))
            session.inject(source, destination, _plain(size), _plain(at), traffic)
            times.append(time)
        except (InputError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"message {number} ({', '.join(map(str, row))}): {error}") from None
        if keep:
            kept.append((at, source, destination, size, traffic))
    return times, kept


def _entry(traffic: Any) -> str:
    """The traffic entry of a message; that of all messages if there is none, as in empty cells of a frame."""
    if isinstance(traffic, str):
        return traffic
    if missing(traffic) or pd.isna(traffic) is True:
        return ENTRY
    raise InputError(f"traffic = {traffic!r}: must be the name of an entry of the traffic list")


def _read(messages: Any) -> Iterator[Sequence[Any]]:
    """The messages. An error of the caller's generator says after which of them it was raised."""
    number = 0
    try:
        for row in _rows(messages):
            yield row
            number += 1
    except InputError:
        raise
    except Exception as error:
        after = f"after message {number - 1}" if number else "before the first message"
        error.add_note(f"run_messages: raised by the generator of messages {after}; nothing was run")
        raise


def _rows(messages: Any) -> Iterator[Sequence[Any]]:
    if hasattr(messages, "itertuples"):
        _require_known(list(messages.columns))
        absent = [column for column in COLUMNS if column not in messages.columns]
        if absent:
            raise InputError(
                f"run_messages: the columns are {list(messages.columns)}: {', '.join(absent)} must be among them"
            )
        columns = [*COLUMNS, "traffic"] if "traffic" in messages.columns else list(COLUMNS)
        yield from messages[columns].itertuples(index=False, name=None)
        return
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise InputError(
            f"run_messages: messages is {type(messages).__name__}: must be a data frame, or tuples; pandas.read_csv "
            "reads a file, and pandas.DataFrame takes a dictionary of columns"
        )
    for number, row in enumerate(messages):
        if not isinstance(row, Sequence) or isinstance(row, str | bytes) or not 4 <= len(row) <= 5:
            raise InputError(
                f"message {number}: {row!r}: must be (at, source, destination, size), or with traffic"
            )
        yield row


def _require_known(columns: Sequence[Any]) -> None:
    """Refuses other columns: a slip in the name of `traffic` would put the messages into another entry."""
    allowed = [*COLUMNS, "traffic"]
    for column in columns:
        if column not in allowed:
            near = difflib.get_close_matches(str(column).lower(), allowed, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(
                f"run_messages: there is no column {column!r}: allowed are {', '.join(allowed)}{hint}"
            )
    if twice := next((column for column in columns if columns.count(column) > 1), None):
        raise InputError(f"run_messages: the column {twice!r} is there twice")


def _plain(value: Any) -> Any:
    """A number of numpy as Python's."""
    return value.item() if hasattr(value, "item") else value


def _write(path: Path, messages: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS, "traffic"])
        writer.writerows(messages)
