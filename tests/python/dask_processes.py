"""A Dask scheduler and workers, each a process of its own on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

LONGEST_S = 60.0


class DaskProcesses:
    """Leave it with `with`: all processes end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._logs: list[IO[bytes]] = []
        self.address = ""

    def __enter__(self) -> DaskProcesses:
        log = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.address = self._found(log, rb"(tcp://127\.0\.0\.1:\d+)")
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        for log in self._logs:
            log.close()

    def worker(self, first_on_path: Path | None = None) -> subprocess.Popen[bytes]:
        """A worker that runs one task at a time, without a nanny that would start it again."""
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        log = self._start("worker", self.address, *options, path=first_on_path)
        self._found(log, rb"Registered to")
        return self._processes[-1]

    def end_scheduler(self) -> None:
        """Kills the scheduler."""
        self._processes[0].kill()

    def _start(self, *arguments: str, path: Path | None = None) -> Path:
        parts = [str(path) if path else "", str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in parts if part)}
        place = self._folder / f"dask-{len(self._processes)}"
        place.mkdir()
        log = (place / "log").open("wb")
        self._logs.append(log)
        command = [sys.executable, "-m", "dask", *arguments]
        self._processes.append(
            subprocess.Popen(command, cwd=place, env=environment, stdout=log, stderr=subprocess.STDOUT)
        )
        return place / "log"

    def _found(self, log: Path, pattern: bytes) -> str:
        found: list[str] = []

        def look() -> bool:
            match = re.search(pattern, log.read_bytes())
            found.append(match[match.lastindex or 0].decode() if match else "")
            return match is not None

        wait_for(look, log.read_text)
        return found[-1]


def wait_for(condition: Callable[[], bool], why_not: Callable[[], str] = str) -> None:
    """Waits until the condition holds."""
    deadline = time.monotonic() + LONGEST_S
    while not condition():
        assert time.monotonic() < deadline, why_not()
        time.sleep(0.05)
