"""Runs of a reproduction that are kept in a folder: one that was interrupted continues with the runs that it lacks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fabricsim.checksums import digest
from fabricsim.lock import FolderTakenError
from fabricsim.results import Result
from fabricsim.run import load, run, stored
from fabricsim.spec import Experiment
from fabricsim.store import MANIFEST, Reservation
from fabricsim.sweep import Stop

_CODE = (".py", ".so", ".pyd")
_NO_INPUT = (".toml", ".py")
"""Files beside an experiment that it does not refer to."""


@dataclass(frozen=True)
class KeptRuns:
    """A folder of runs, by experiment and build of the simulator: runs of another build are not used."""

    folder: Path
    build: str

    @classmethod
    def of(cls, folder: str | Path) -> KeptRuns:
        """The runs in a folder that this build of the simulator makes."""
        return cls(Path(folder), _build())

    def run(self, experiment: Experiment, stop: Stop) -> Result:
        """The run of an experiment, read if the folder has it. One that is interrupted is not kept.

        Raises:
            InputError: as for `fabricsim.run`.
            StoreError: the folder cannot be written, or a file in it is damaged.
        """
        place = self.folder / self._name(experiment)
        if (place / MANIFEST).exists():
            return load(place)
        result = run(experiment, stop=stop)
        if result.status == "interrupted":
            return result
        with suppress(FolderTakenError):  # another process has computed the same
            reservation = Reservation(place)
            try:
                return stored(result, reservation)
            finally:
                reservation.discard()
        return result

    def _name(self, experiment: Experiment) -> str:
        """Of the experiment and the files beside it, to which it may refer; files in other folders are left out."""
        text, _, base, overrides = experiment.arguments()
        beside = _hashes(Path(base), Path(base).glob("*"), but=_NO_INPUT)
        return _hash([self.build, text, overrides, *beside])


@cache
def _build() -> str:
    """Hash of the package's code, the compiled module included."""
    package = Path(__file__).parent.parent
    return _hash(list(_hashes(package, package.rglob("*"), only=_CODE)))


def _hashes(
    folder: Path, files: Iterator[Path], *, only: Collection[str] | None = None, but: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    for path in sorted(files):
        if path.is_file() and path.suffix not in but and (only is None or path.suffix in only):
            yield str(path.relative_to(folder)), digest(path)


def _hash(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]
