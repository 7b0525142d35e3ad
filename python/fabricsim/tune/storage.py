"""Optuna's storage of a study: a file of the result's folder, or any database."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fabricsim.errors import FabricsimError, InputError, StoreError
from fabricsim.tune.problem import Problem

if TYPE_CHECKING:
    from optuna.study import Study

FILE = "study.db"
_IDENTITY = "fabricsim:identity"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Optuna without its log and its warnings about what it may change later."""
    import optuna  # noqa: PLC0415 - takes long

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="optuna")
            warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


def open_study(problem: Problem, name: str, storage: str | None, folder: Path | None) -> Study:
    """The study `name`, new or as far as it had come.

    Args:
        problem: what it is about.
        name: of the study in the storage.
        storage: the URL of a database; by default a file in the folder, or without one the memory.
        folder: the result's.

    Raises:
        InputError: the storage cannot be opened, or its study of this name is of something else.
    """
    import optuna  # noqa: PLC0415 - takes long

    url = _url(storage, folder)
    try:
        study = optuna.create_study(
            storage=url,
            study_name=name,
            directions=["maximize" if axis.maximize else "minimize" for axis in problem.axes],
            load_if_exists=True,
        )
        directions = [direction.name == "MAXIMIZE" for direction in study.directions]
        identity = study.user_attrs.get(_IDENTITY)
        if identity is None and not study.trials:
            study.set_user_attr(_IDENTITY, problem.identity())
            identity = problem.identity()
    except InputError:
        raise
    except Exception as error:  # of any database's driver
        raise InputError(
            f"{_without_password(url)}: this storage cannot be opened: {_reason(error)}"
        ) from error
    if identity != problem.identity() or directions != [axis.maximize for axis in problem.axes]:
        raise InputError(
            f"{_without_password(url)}: the study {name!r} there is of another experiment, or of other parameters or "
            "objectives; give another name with --study, or another folder with --out"
        )
    return study


@contextlib.contextmanager
def readable(storage: str | None, folder: Path | None) -> Iterator[None]:
    """Turns whatever a damaged storage runs into, while a study is read, into a message.

    Raises:
        StoreError: the study cannot be read.
    """
    try:
        yield
    except (FabricsimError, MemoryError):
        raise
    except Exception as error:  # of Optuna, a database's driver, or our own reading
        url = _url(storage, folder)
        raise StoreError(
            f"{_without_password(url)}: the study in it cannot be read, it may be damaged: {_reason(error)}; restore "
            "it, or begin anew with --force"
        ) from error


def _url(storage: str | None, folder: Path | None) -> str | None:
    return storage if storage is not None else f"sqlite:///{folder / FILE}" if folder is not None else None


def _reason(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"the Python module {error.name} is not installed"
    text = str(getattr(error, "orig", None) or error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def _without_password(url: str | None) -> str:
    scheme, separator, rest = (url or "memory").partition("://")
    access, at, place = rest.rpartition("@")
    return f"{scheme}{separator}{access.partition(':')[0]}{at}{place}"
