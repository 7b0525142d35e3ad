"""A run controlled by the caller: advance, inject, configure, snapshot, subscribe."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NoReturn, TypeVar, cast

from fabricsim.durations import nanoseconds
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.memory import Allowance, allowance
from fabricsim.native import POLL_S, bad_input, native
from fabricsim.native_types import NativeControl, NativeSession
from fabricsim.results import Result, frame_of
from fabricsim.run import result_of
from fabricsim.spec import Experiment, as_experiment

Stop = Literal["reached", "idle", "ended"]
"""Reason why a session stopped: at the requested time; there, with no event left; at the end of the run."""
Hosts = str | Sequence[str]
T = TypeVar("T")

_LONGEST_PS = 100 * 86_400 * 10**12
"""Latest time of a session: 100 days."""


@dataclass(frozen=True)
class Snapshot:
    """The state of a network at an instant. `frame.attrs["columns"]` has unit and description of the columns."""

    now: float
    """Time of the snapshot, in nanoseconds."""
    totals: dict[str, int]
    """Packets `injected`, `delivered`, `lost` and `in_flight` since the start."""
    ports: pd.DataFrame = field(repr=False)
    """A row for each direction and virtual lane of each link: packets, credits used, free and returning."""
    hosts: pd.DataFrame = field(repr=False)
    """A row for each host: messages that it is sending, reasons for waiting, requests that it refuses."""
    waits: pd.DataFrame = field(repr=False)
    """Waiting packets: a row for each queue of a switch and each host with packets to send."""


class Session:
    """A network that is simulated step by step, and a run of its experiment.

    ```python
    with fs.Session("experiment.toml") as session:
        session.advance("10 us")
        session.snapshot().waits
        session.inject("H0", "H1", "4 KiB")
        session.advance_to_end()
        run = session.result()
    ```

    Times are given as texts with a unit ("10 us") or as numbers of nanoseconds. A session that is only advanced, to the
    end of its run, has the results of `fabricsim.run`. Of several threads one at a time may use it.

    Args:
        experiment: an experiment file, or an `Experiment`.
        set: values to replace, by key: `{"traffic.0.load": 0.4}`.
        memory: most memory of the process, such as "16 GiB"; by default what the machine has.

    Raises:
        InputError: the experiment is wrong, or does not fit into memory.
    """

    def __init__(
        self,
        experiment: str | Path | Experiment,
        *,
        set: Mapping[str, Any] | None = None,
        memory: str | int | Allowance | None = None,
    ) -> None:
        self._experiment = as_experiment(experiment, set)
        self._allowed = allowance(memory)
        self._wall_s = 0.0
        arguments = self._experiment.arguments()
        self._native: NativeSession = self._work(
            lambda control: native().Session(*arguments, control, self._allowed.estimate)
        )

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            return f"<Session of {self._experiment.name} at {nanoseconds(self.now, digits=6)}>"
        except InputError:
            return f"<Session of {self._experiment.name}, ended>"

    def fork(self, *, set: Mapping[str, Any] | None = None) -> Session:
        """Returns an independent copy of the session at its time, in memory.

        Both go on from here as a session that was never copied; what one does has no effect on the other. Events that
        `events` has not returned yet are those of both.

        Args:
            set: values to replace in the experiment of the copy. Only failures to come may differ: `faults.plan` by
                what fails and returns after `now`, and `faults.reroute_after`. The copy then has the results of a run
                of that experiment.

        Raises:
            InputError: a value is wrong or differs in something that has already had an effect, there is not enough
                memory for a copy, or the session has ended.
        """
        experiment = self._experiment.with_values(set or {})
        text, file, _, overrides = experiment.arguments()
        limit = self._allowed.left()
        copy = object.__new__(Session)
        copy._native = self._work(lambda control: self._native.fork(text, file, overrides, control, limit))
        copy._experiment = experiment
        copy._allowed = self._allowed
        copy._wall_s = self._wall_s
        return copy

    def __copy__(self) -> Session:
        """See `fork`."""
        return self.fork()

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Session:
        """See `fork`."""
        return self.fork()

    def __reduce__(self) -> NoReturn:
        """Refuses to be written to a file or sent to another process.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            "a session is in the memory of its process and cannot be pickled: copy it with fork()"
        )

    def close(self) -> None:
        """Ends the session without results. Calls of other methods raise `InputError` from then on."""
        with bad_input():
            self._native.close()

    @property
    def now(self) -> float:
        """The session's time in nanoseconds: everything before it has happened, and nothing since."""
        with bad_input():
            return self._native.now() / 1000

    @property
    def is_over(self) -> bool:
        """True if the run has come to its end: its measurement and its drain, or a deadlock."""
        with bad_input():
            return self._native.is_over()

    def advance(self, duration: str | float) -> Stop:
        """Simulates for a duration from now on; see `advance_to`."""
        length = picoseconds("duration", duration)
        with bad_input():
            until = self._native.now() + length
        return self._advance("duration", until)

    def advance_to(self, time: str | float) -> Stop:
        """Simulates until a time.

        Stops before it, once, where the run ends; the next call goes on beyond the end. Ctrl-C stops the session and
        raises KeyboardInterrupt; the session can go on.

        Args:
            time: since the start of the simulation, not before now; a number is in nanoseconds.

        Raises:
            InputError: it is not a time, or before now, or the machine runs out of memory.
        """
        until = picoseconds("time", time)
        with bad_input():
            now = self._native.now()
        if until < now:
            raise InputError(f"time {time!r}: must not be before now, {nanoseconds(now / 1000, digits=6)}")
        return self._advance("time", until)

    def advance_to_end(self) -> Stop:
        """Simulates until the run ends: with its drain, by its jobs, in a deadlock. "ended" if it has already."""
        return self._advance("time", None)

    def inject(
        self,
        source: str,
        destination: str,
        size: str | int,
        at: str | float | None = None,
        traffic: str | None = None,
    ) -> int:
        """Injects a message at a host, which sends it like its own traffic.

        Args:
            source: name of the sending host.
            destination: name of the receiving host.
            size: a text such as "4 KiB", or a number of bytes.
            at: time at which it is created; now by default. A number is in nanoseconds.
            traffic: name of the traffic entry whose service class and ordering it has; by default the first one whose
                messages are not answered.

        Returns:
            The message's number, as in the column `message` of `events`.

        Raises:
            InputError: a name is unknown, or the message cannot be sent.
        """
        count = _bytes(size)
        time = None if at is None else picoseconds("at", at)
        with bad_input():
            return self._native.inject(source, destination, count, time, traffic)

    def configure(
        self,
        *,
        stop: Hosts = (),
        resume: Hosts = (),
        fail: Hosts = (),
        restore: Hosts = (),
        routes: Iterable[tuple[str, str, str]] = (),
    ) -> None:
        """Changes the network from now on.

        Args:
            stop: hosts whose traffic stops: names, patterns with `*`, groups. They send what they have begun. Messages
                that they create or that are injected wait until they resume.
            resume: hosts whose traffic goes on.
            fail: links ("S(0,0)-S(1,0)") and switches ("S(0,0)") that fail. `faults.waiting` in the experiment decides
                on packets that are routed to them.
            restore: links and switches that work again.
            routes: entries of forwarding tables, each a switch, a host, and the neighbour of the switch to which it
                sends what is for the host.

        Raises:
            InputError: a name matches nothing: nothing is changed then; or links of this network cannot fail, or its
                routing has no forwarding tables.
        """
        with bad_input():
            self._native.configure(
                _names(stop), _names(resume), _names(fail), _names(restore), [(a, b, c) for a, b, c in routes]
            )

    def snapshot(self) -> Snapshot:
        """The state of the network now."""
        with bad_input():
            now, totals, tables = self._native.snapshot()
        frames = {name: frame_of(columns) for name, columns in tables}
        return Snapshot(now / 1000, json.loads(totals), frames["ports"], frames["hosts"], frames["waits"])

    def deadlock(self) -> list[str] | None:
        """The cycle of buffers that can never move again, a line for each; None if every packet can move some day."""
        with bad_input():
            return self._native.deadlock()

    def subscribe(
        self,
        *,
        deliveries: bool = True,
        marks: bool = False,
        completions: bool = False,
        losses: bool = False,
        most: int = 100_000,
    ) -> None:
        """Collects events for `events` from now on.

        Args:
            deliveries: packets with data that are delivered.
            marks: packets that switches mark (FECN).
            completions: messages of a transport that are complete at their receiver.
            losses: packets that are lost with links and switches that fail.
            most: events that are kept between two calls of `events`: the first ones.

        Raises:
            InputError: `most` is negative.
        """
        if most < 0:
            raise InputError(f"most = {most}: must be 0 or more")
        kinds = {"deliveries": deliveries, "marks": marks, "completions": completions, "losses": losses}
        with bad_input():
            self._native.subscribe([kind for kind, is_requested in kinds.items() if is_requested], most)

    def events(self) -> pd.DataFrame:
        """The events since the last call, by time; `attrs["missed"]` is the number of later ones that were not kept."""
        with bad_input():
            columns, missed = self._native.events()
        frame = frame_of(columns)
        frame.attrs["missed"] = missed
        return frame

    def result(self) -> Result:
        """Ends the session. Returns the results of what it has simulated.

        The status is "interrupted" if the run has not come to its end; the measurement then ends now.
        """
        with bad_input():
            outcome = self._native.result()
        return result_of(self._experiment, outcome, self._wall_s, None)

    def _advance(self, argument: str, until: int | None) -> Stop:
        if until is not None and until > _LONGEST_PS:
            raise InputError(f"{argument}: a session may reach at most 100 days of simulated time")
        begun = time.monotonic()
        try:
            how = self._work(lambda control: self._native.advance_to(until, control))
        finally:
            self._wall_s += time.monotonic() - begun
        return cast("Stop", how)

    def _work(self, work: Callable[[NativeControl], T]) -> T:
        """Returns or raises what `work` does. It runs in a thread, so that this one notices Ctrl-C."""
        control = native().Control()
        results: list[T] = []
        errors: list[BaseException] = []
        done = threading.Event()

        def do() -> None:
            try:
                results.append(work(control))
            except BaseException as error:  # raised again by the thread that waits
                errors.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=do, name="fabricsim", daemon=True)
        exceeded = None
        try:
            thread.start()
            while not done.wait(POLL_S):
                if exceeded is None and (exceeded := self._allowed.exceeded()) is not None:
                    control.cancel()
        except BaseException:
            control.cancel()
            if thread.ident is not None:
                done.wait()
            raise
        if exceeded is not None:
            raise InputError(f"{self._experiment.file}: {exceeded}")
        if errors:
            with bad_input():
                raise errors[0]
        return results[0]


def picoseconds(argument: str, value: str | float) -> int:
    """A time as text with a unit, or as a number of nanoseconds.

    Args:
        argument: its name, for messages.
        value: the time, 0 or more.

    Raises:
        InputError: it is no time.
    """
    if isinstance(value, str):
        return _parsed(argument, value, native().parse_time)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise InputError(
            f'{argument} = {value!r}: must be a time such as "10 us", or nanoseconds of 0 or more'
        )
    return round(value * 1000)


def _bytes(value: str | int) -> int:
    """A size as text with a unit, or as a number of bytes."""
    if isinstance(value, str):
        return _parsed("size", value, native().parse_size)
    try:
        is_size = not isinstance(value, bool) and 0 < value < 2**63 and value == int(value)
    except (TypeError, ValueError):  # no number
        is_size = False
    if not is_size:
        raise InputError(f'size = {value!r}: must be a size such as "4 KiB", or bytes, 1 or more')
    return int(value)


def _parsed(argument: str, text: str, parse: Callable[[str], int]) -> int:
    try:
        with bad_input():
            return parse(text)
    except InputError as error:
        raise InputError(f"{argument}: {error}") from None


def _names(hosts: Hosts) -> list[str]:
    return [hosts] if isinstance(hosts, str) else [str(host) for host in hosts]
