"""Checkpoints: the state of a run in a file, from which another process continues it.

A file is the work of one build of the engine for one experiment. Its parts, with little-endian integers:

| part | bytes |
|---|---|
| `FABRCKPT` | 8 |
| version of this layout | 4 |
| length of the head | 8 |
| length of the state | 8 |
| head: JSON | |
| state of the run | |
| SHA-256 of all of the above | 32 |

The checksum finds accidental damage. It is no signature: a file that was made to look like a checkpoint may have any
state, so a checkpoint is as trusted as the program that wrote it.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fabricsim import checksums
from fabricsim.errors import InputError, StoreError
from fabricsim.lock import FolderTakenError
from fabricsim.native import build, module_file, native, version

if TYPE_CHECKING:
    from fabricsim.native_types import NativeControl, NativeOutcome, NativeSteppedRun, Overrides

SUFFIX = ".checkpoint"
"""Ending of the name of a checkpoint, after that of its run folder."""
MAGIC = b"FABRCKPT"
FORMAT = 1
END_PS = 2**64 - 1
"""The latest time."""
_LENGTHS = struct.Struct("<8sIQQ")
_SUM = hashlib.sha256().digest_size


@dataclass(frozen=True)
class Head:
    """What a checkpoint says of itself."""

    build: str
    """Version and build of the engine: the state is read by this one only."""
    experiment: str
    """SHA-256 of the experiment with its defaults, and of the files that it names."""
    file: str
    """File of the experiment."""
    time_ps: int
    every_ps: int
    """Simulated time between two checkpoints."""
    cores: int
    """Cores that the run may use, from which the number of its partitions follows."""
    wall_s: float
    """Wall time of the simulation until then."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint in memory."""

    head: Head
    state: bytes

    def write(self, path: Path) -> None:
        """Replaces the file: the one that is there stays until this one is on the disk.

        Raises:
            StoreError: it cannot be written.
        """
        head = json.dumps(asdict(self.head)).encode()
        start = _LENGTHS.pack(MAGIC, FORMAT, len(head), len(self.state)) + head
        digest = hashlib.sha256(start)
        digest.update(self.state)
        # One name, so that a process that is killed while it writes leaves one file that the next one replaces.
        temporary = path.with_name(f".{path.name}.new")
        try:
            with temporary.open("wb") as file:
                file.writelines([start, self.state, digest.digest()])
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync(path.parent)
        except OSError as error:
            raise StoreError(f"{path}: the checkpoint cannot be written: {error.strerror}") from error

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        """The checkpoint in a file.

        Raises:
            InputError: there is none, or it was written by another version.
            StoreError: it is damaged.
        """
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: no checkpoint can be read there: {error.strerror}") from None
        if len(content) < _LENGTHS.size or not content.startswith(MAGIC):
            raise InputError(
                f"{path}: this is not a checkpoint: give the file that `run --checkpoint` has written"
            )
        _, layout, head, state = _LENGTHS.unpack_from(content)
        if layout != FORMAT:
            raise InputError(f"{path}: a checkpoint of layout {layout}; this version reads layout {FORMAT}")
        if len(content) != _LENGTHS.size + head + state + _SUM:
            raise StoreError(f"{path}: truncated: {len(content)} bytes, not those that its head states")
        if hashlib.sha256(content[:-_SUM]).digest() != content[-_SUM:]:
            raise StoreError(f"{path}: damaged: its checksum is wrong")
        body = _LENGTHS.size + head
        return cls(Head(**json.loads(content[_LENGTHS.size : body])), content[body:-_SUM])


def _sync(folder: Path) -> None:
    """The name of a new file is on the disk, too, where the system can say so."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def engine() -> str:
    """Version and build of the engine."""
    identifier, file = build(), module_file()
    if not identifier and file is not None:  # the linker gives none: all bytes of the module stand for it
        identifier = checksums.digest(file)[:12]
    return f"{version()} ({identifier})"


def path_of(folder: str | Path) -> Path:
    """The checkpoint of a run folder: a file beside it."""
    folder = Path(folder)
    return folder.with_name(folder.name + SUFFIX)


def folder_of(path: str | Path) -> Path:
    """The run folder of a checkpoint.

    Raises:
        InputError: the name is not one that `path_of` gives.
    """
    path = Path(path)
    if path.suffix != SUFFIX or path.name == SUFFIX:
        raise InputError(
            f"{path}: a checkpoint is named FOLDER{SUFFIX}: give the folder of the results with --out"
        )
    return path.with_suffix("")


def require_none(folder: str | Path) -> None:
    """Refuses a run folder beside which there is a checkpoint.

    Raises:
        FolderTakenError: there is one.
    """
    path = path_of(folder)
    if path.exists():
        raise FolderTakenError(
            f"{path}: a checkpoint of an earlier run is there: continue that run with --resume {path}, or replace it "
            "with --force, or choose another folder with --out"
        )


class Checkpoints:
    """Checkpoints that a run writes, and the one from which it continues."""

    def __init__(self, folder: str | Path, every_ps: int, cores: int) -> None:
        """Those of a run from its start.

        Args:
            folder: its run folder, beside which they are written.
            every_ps: simulated time between two of them.
            cores: cores that it may use.
        """
        self.path = path_of(folder)
        self.wall_s = 0.0
        """Wall time of the processes before this one."""
        self._every = every_ps
        self._cores = cores
        self._found: Checkpoint | None = None
        self._source = self.path

    @classmethod
    def resumed(cls, path: Path, folder: str | Path, every_ps: int | None) -> Checkpoints:
        """Those of a run that continues from the one in a file, in the same number of partitions.

        Raises:
            InputError: there is none, or it is another build's.
            StoreError: it is damaged.
        """
        found = Checkpoint.read(path)
        if found.head.build != engine():
            raise InputError(
                f"{path}: written by fabricsim {found.head.build}, this is {engine()}: a checkpoint is read by the "
                "build that wrote it only; continue with that one, or run the experiment from its start"
            )
        known = cls(folder, every_ps or found.head.every_ps, found.head.cores)
        known.wall_s, known._found, known._source = found.head.wall_s, found, path
        return known

    def simulate(
        self,
        experiment: tuple[str, str, str, Overrides],
        control: NativeControl,
        memory: int | None,
        begin: Callable[[], None],
    ) -> NativeOutcome:
        """Runs an experiment to its end, and writes its state at each multiple of the interval.

        Calls `begin` once its network is built. Warns of each state that cannot be written.

        Raises:
            InputError: the state is that of another experiment.
            StoreError: the checkpoint has a state that no run has.
        """
        run = native().SteppedRun(*experiment, control, memory, self._cores)
        _, file, base, _ = experiment
        identity = _identity(run, base)
        if self._found is None:
            run.save()  # a run that cannot be written is refused before it starts
        else:
            self._restore(run, self._found, identity, file)
            self._found = None  # as large as the run itself
        begin()
        head = Head(engine(), identity, file, 0, self._every, self._cores, self.wall_s)
        started = time.monotonic()
        while run.advance_to(min((run.now() // self._every + 1) * self._every, END_PS)):
            wall_s = self.wall_s + time.monotonic() - started
            try:
                Checkpoint(replace(head, time_ps=run.now(), wall_s=wall_s), run.save()).write(self.path)
            except StoreError as error:  # the next one may fit again; what has been simulated is worth more
                warnings.warn(f"{error}; the run goes on", RuntimeWarning, stacklevel=2)
        return run.result()

    def _restore(self, run: NativeSteppedRun, found: Checkpoint, identity: str, file: str) -> None:
        if found.head.experiment != identity:
            raise InputError(
                f"{self._source}: a checkpoint of another experiment than {file}: a setting, --set, or a file that it "
                f"names differs; it was written for {found.head.file}"
            )
        try:
            run.restore(found.state)
        except native().NativeError as error:
            raise StoreError(f"{self._source}: {error}") from error

    def remove(self) -> None:
        """Removes the files: the run is complete, and its results are stored."""
        self.path.unlink(missing_ok=True)
        self._source.unlink(missing_ok=True)


def _identity(run: NativeSteppedRun, base: str) -> str:
    """SHA-256 of the experiment of a run with its defaults, and of the files that it names."""
    text, files = run.experiment()
    known = {"experiment": text, "files": [[file, checksums.digest(Path(base) / file)] for file in files]}
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()
