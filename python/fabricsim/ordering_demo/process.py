"""A process of the demonstration, as its parent sees it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import Any

from fabricsim.errors import FabricsimError

Task = dict[str, Any]
"""Task of a process, as JSON."""
Counters = dict[str, Any]
"""Final report of a process, as JSON."""

POLL_S = 0.05
"""Seconds between two checks whether a process has ended."""

GRACE_S = 20.0
"""Seconds that a process gets to start and to end, besides its task."""


class Process:
    """An endpoint in a process of its own. It ends when its standard input does, so also when its parent dies."""

    def __init__(self, task: Task) -> None:
        self.role: str = task["role"]
        # In a session of its own: Ctrl-C is for the parent, which then ends it.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fabricsim.ordering_demo.endpoint"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._output = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._write(json.dumps(task) + "\n")

    def _read(self) -> None:
        if self._process.stdout is not None:
            self._output = self._process.stdout.read()

    def _write(self, text: str) -> None:
        if self._process.stdin is not None:
            try:
                self._process.stdin.write(text)
                self._process.stdin.flush()
            except BrokenPipeError:
                return  # it has died, as its result shows

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def has_ended(self) -> bool:
        """True if the process has ended."""
        return not self._reader.is_alive()

    def finish(self) -> None:
        """Requests the process to end and report."""
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                return

    def kill(self) -> None:
        """Kills the process."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self.finish()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def result(self) -> Counters:
        """Final report of the process.

        Raises:
            FabricsimError: it failed, or died.
        """
        try:
            result: Counters = json.loads(self._output)
        except json.JSONDecodeError:
            code = self._process.wait()
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            raise FabricsimError(f"the {self.role} process ended {how} before completion") from None
        if problem := result.get("error"):
            raise FabricsimError(f"{self.role}: {problem}")
        return result


def wait(process: Process, beside: Process | None, seconds: float, cancel: threading.Event) -> Counters:
    """Final report of `process`; `beside` must live until then.

    Raises:
        FabricsimError: one of both failed or died, or there was no report after `seconds`, or `cancel` was set.
    """
    until = time.monotonic() + seconds
    while not process.has_ended():
        if beside is not None and beside.has_ended():
            beside.result()
            raise FabricsimError(f"the {beside.role} process ended early")
        if time.monotonic() > until:
            raise FabricsimError(f"the {process.role} process did not end in {seconds:.0f} s")
        if cancel.wait(POLL_S):
            raise FabricsimError("cancelled")
    return process.result()
