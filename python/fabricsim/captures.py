"""Capture files of InfiniBand and RoCE packets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from fabricsim.errors import InputError
from fabricsim.native import bad_input, native


def dissect(file: Path | str) -> list[dict[str, Any]]:
    """The records of a capture file: pcap, pcapng or ERF; native InfiniBand, RoCE v1 or v2.

    Each has `number`, `time_ns`, `interface`, `summary`, the headers that the packet has (`lrh`, `grh`, `bth` are None
    without one), `mad`, and the checksums `icrc` and `vcrc` with `value` and `ok`. A malformed packet has `problem`.

    Raises:
        InputError: the file cannot be read, or is damaged. The message names the file and the record.
    """
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error
    with bad_input():
        return cast("list[dict[str, Any]]", json.loads(native().dissect_capture(content, str(file))))
