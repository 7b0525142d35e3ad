"""Captures of simulated links for Wireshark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricsim.captures import written
from fabricsim.errors import InputError
from fabricsim.memory import Allowance
from fabricsim.run import Progress, simulate
from fabricsim.spec import Experiment, as_experiment


@dataclass(frozen=True)
class Capture:
    """A capture file, and what is in it."""

    file: Path
    """The file, pcapng."""
    status: str
    """ "ok" or "deadlock" if the run came to its end, "complete" if it ended with the capture, or "interrupted"."""
    report: Mapping[str, Any]
    """`interfaces` (each with `name`, `packets`, `bytes`), `packets`, `bytes`, `cut`, `missed`, `limit_reached`,
    `first_ns`, `last_ns`."""

    @property
    def packets(self) -> int:
        """Packets in the file."""
        return int(self.report["packets"])

    def as_dict(self) -> dict[str, Any]:
        """The output of `fabricsim capture --json`."""
        return {"file": str(self.file), "status": self.status, **self.report}


def capture(
    experiment: str | Path | Experiment,
    out: str | Path,
    *,
    links: str | Sequence[str] | None = None,
    start: str | None = None,
    end: str | None = None,
    packets: int | None = None,
    set: Mapping[str, Any] | None = None,
    force: bool = False,
    memory: str | int | Allowance | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Capture:
    """Runs an experiment until its capture is complete, and writes what crosses the chosen links as pcapng.

    Args:
        experiment: an experiment file, or an `Experiment`. Its `[capture]` has what the other arguments leave out.
        out: the file.
        links: names of links or patterns with `*`: `"SW11->SW12"` is one direction, `"SW11-SW12"` both.
        start: time from which on packets are captured: `"10 us"`.
        end: time at which the capture ends, and the run with it; by default the run's own end.
        packets: maximum number of packets; the run ends with the last.
        set: values to replace, by key.
        force: replace a file that exists.
        memory: most memory of the process, as in `run`.
        on_progress: called about ten times a second.
        stop: called about ten times a second; the run is interrupted when it returns True.

    Raises:
        InputError: the experiment is wrong, no link matches, or the file exists or cannot be written.
        InterruptedBuildError: `stop` returned True while the network was built.
    """
    values = {
        "links": [links] if isinstance(links, str) else links and list(links),
        "from": start,
        "to": end,
        "packets": packets,
    }
    given = {f"capture.{key}": value for key, value in values.items() if value is not None}
    experiment = as_experiment(experiment, set).with_values(given)
    if "links" not in experiment.written().get("capture", {}):
        raise InputError(
            f"{experiment.file}: no links are chosen: name at least one link with --links, or `capture.links`"
        )
    out = Path(out)
    with written(out, force) as temporary:
        outcome = simulate(experiment, memory, on_progress, stop, capture=temporary, only=True)
    assert outcome.capture is not None
    report = outcome.capture
    is_complete = outcome.status == "interrupted" and not outcome.was_stopped
    return Capture(out, "complete" if is_complete else outcome.status, report)
