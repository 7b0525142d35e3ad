"""One of the two processes: `python -m fabricsim.ordering_demo.endpoint`.

The first line of standard input is a JSON object with `role`, `port`, `token`, `settings`, and for the source `file` or
`bytes` and `seed`. One JSON object comes out. Both end when their standard input does.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import threading
from pathlib import Path
from typing import Any

from fabricsim.native import native
from fabricsim.native_types import NativeOrderingStop


def _data(task: dict[str, Any]) -> bytes:
    if task.get("file") is not None:
        return Path(task["file"]).read_bytes()
    return random.Random(task["seed"]).randbytes(task["bytes"])  # noqa: S311 - no secret


def _stop_with_input() -> NativeOrderingStop:
    """Sets stop when standard input ends."""
    stop = native().OrderingStop()

    def wait() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait, daemon=True).start()
    return stop


def _source(task: dict[str, Any]) -> dict[str, Any]:
    data, stop = _data(task), _stop_with_input()
    report = native().ordering_source(task["port"], task["token"], data, json.dumps(task["settings"]), stop)
    return {"sha256": hashlib.sha256(data).hexdigest(), **json.loads(report)}


def _target(task: dict[str, Any]) -> dict[str, Any]:
    stop = _stop_with_input()
    streams, report = native().ordering_target(
        task["port"], task["token"], json.dumps(task["settings"]), stop
    )
    digest = hashlib.sha256()
    for received in streams:
        digest.update(received)
    return {"sha256": digest.hexdigest(), "bytes": sum(map(len, streams)), **json.loads(report)}


def main() -> None:
    """Executes the task from standard input."""
    line = sys.stdin.readline()
    if not line:
        return  # the parent has gone
    task = json.loads(line)
    try:
        result = {"source": _source, "target": _target}[task["role"]](task)
    except (OSError, RuntimeError, ValueError) as error:
        result = {"error": str(error)}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
