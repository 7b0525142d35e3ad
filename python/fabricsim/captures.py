"""Capture files of InfiniBand and RoCE packets."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.native import bad_input, native

_PART = 1000
"""Records in a part."""


def dissect(file: Path | str) -> list[dict[str, Any]]:
    """The records of a capture file: pcap, pcapng or ERF; native InfiniBand, RoCE v1 or v2.

    Each has `number`, `time_ns`, `interface`, `summary`, the headers that the packet has (`lrh`, `grh`, `bth` are None
    without one), `mad`, and the checksums `icrc` and `vcrc` with `value` and `ok`. A malformed packet has `problem`.

    Raises:
        InputError: the file cannot be read, or is damaged. The message names the file and the record.
    """
    records: list[dict[str, Any]] = []
    dissect_in_parts(file, records.extend)
    return records


def dissect_in_parts(file: Path | str, take: Callable[[list[dict[str, Any]]], object]) -> None:
    """Calls `take` with the records that `dissect` returns, a part of them at a time.

    The memory for them does not grow with the file. A damaged file is refused before the first call.

    Raises:
        InputError: the file cannot be read, or is damaged.
    """
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error
    with bad_input():
        native().dissect_capture(content, str(file), _PART, lambda text: take(json.loads(text)))


def add_mpi(records: list[dict[str, Any]]) -> None:
    """Adds `mpi` to the records of SENDs and RDMA WRITEs that begin with headers of Open MPI: the headers as text.

    Nothing on the wire says that a message is one of MPI: data that looks like its headers is taken for them.
    """
    for record in records:
        text = _mpi_header(record)
        if text is not None:
            record["mpi"] = text


def _mpi_header(record: dict[str, Any]) -> str | None:
    first = bytes.fromhex(record.get("first_bytes") or "")
    try:
        text, _, data = native().decode_mpi(first).rpartition(" data ")
    except ValueError:
        return None
    # The record has the first bytes of the message only.
    length = int(data) + record["payload_length"] - len(first)
    return f"{text} data {length}" if length else text


@contextmanager
def written(out: Path, force: bool) -> Iterator[Path]:
    """A file beside `out` that is renamed to it at the end, if all goes well.

    Raises:
        InputError: `out` exists, unless `force` is given, or cannot be written.
    """
    temporary = _reserve(out, force)
    try:
        yield temporary
        _rename(temporary, out, force)
    finally:
        temporary.unlink(missing_ok=True)


def _reserve(out: Path, force: bool) -> Path:
    """An empty file beside `out`."""
    _check_free(out, force)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
        os.close(handle)
    except OSError as error:
        raise InputError(
            f"{out}: it cannot be written: {error.strerror or error}; choose another file"
        ) from error
    return Path(name)


def _check_free(out: Path, force: bool) -> None:
    if os.path.lexists(out) and not force:
        raise InputError(f"{out}: this exists; choose another file, or replace it with --force")


def _rename(temporary: Path, out: Path, force: bool) -> None:
    _check_free(out, force)
    try:
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(out)
    except OSError as error:
        raise InputError(
            f"{out}: it cannot be written: {error.strerror or error}; choose another file"
        ) from error
