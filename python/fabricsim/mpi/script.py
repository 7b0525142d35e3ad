"""Scripts as rank programs: each rank has the script's module, and those of the script's folder, for itself."""

from __future__ import annotations

import contextlib
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.mpi.errors import Abort
from fabricsim.mpi.process import current_or_none
from fabricsim.mpi.run import MpiRun, run

MPI4PY_VERSION = "4.1.2"
"""Version of mpi4py whose names and behaviour are those of `MPI`."""


def run_script(
    script: str | Path,
    ranks: int,
    network: Any = None,
    *,
    args: Sequence[str] = (),
    own_modules: Sequence[str | Path] = (),
    **options: Any,
) -> MpiRun:
    """Runs a script in each of several ranks. In it `from mpi4py import MPI` is `fabricsim.mpi.MPI`.

    Each rank has its own `__main__` and its own copies of modules in the script's folder. Installed packages are shared
    by the ranks, with their global variables.

    Args:
        script: a file in Python.
        ranks: number of ranks.
        network: as of `fabricsim.mpi.run`.
        args: arguments of the script: `sys.argv[1:]`.
        own_modules: more folders whose modules each rank has for itself.
        options: others of `fabricsim.mpi.run`.

    Raises:
        InputError: the script cannot be read or has a syntax error, or an option is wrong.
        RankError, DeadlockError, UnfinishedError, Abort: as of `fabricsim.mpi.run`; a script that ends with
            `sys.exit(n)` aborts.
    """
    path = Path(script)
    try:
        text = path.read_bytes()
        code = compile(text, str(path), "exec", dont_inherit=True)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        line, problem = getattr(error, "lineno", None), getattr(error, "msg", None)
        raise InputError(f"{path}{f', line {line}' if line else ''}: {problem or error}") from None
    modules = _Modules([path.resolve().parent, *(Path(one).resolve() for one in own_modules)])

    def program() -> None:
        main = types.ModuleType("__main__")
        main.__dict__.update(__file__=str(path), __builtins__=__builtins__)
        modules.begin(main)
        process = current_or_none()
        assert process is not None
        try:
            exec(code, main.__dict__)  # noqa: S102 - the user's program
        except SystemExit as end:
            if end.code not in (None, 0):
                if not isinstance(end.code, int):
                    print(end.code, file=sys.stderr)
                raise Abort(end.code if isinstance(end.code, int) else 1, process.rank) from None

    with modules.installed([str(path), *args]):
        return run(program, ranks, network, **options)


class _Modules:
    """Modules of ranks: at each switch those of the rank that goes on take their places in `sys.modules`."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [str(folder) for folder in folders]
        self._of: dict[Any, dict[str, types.ModuleType]] = {}
        self._names: set[str] = set()
        self._code: dict[str, Any] = {}

    def begin(self, main: types.ModuleType) -> None:
        """The running rank has a main module."""
        from greenlet import getcurrent  # noqa: PLC0415 - only where programs run

        self._of[getcurrent()] = {"__main__": main}
        sys.modules["__main__"] = main

    @contextlib.contextmanager
    def installed(self, argv: list[str]) -> Iterator[None]:
        """The program's arguments, its folder, and mpi4py, while it runs."""
        from greenlet import gettrace, settrace  # noqa: PLC0415 - only where programs run

        modules, saved, path, arguments = sys.modules, dict(sys.modules), list(sys.path), sys.argv
        trace = gettrace()
        for name in [name for name in modules if name.partition(".")[0] == "mpi4py"]:
            del modules[name]
        modules.update(_mpi4py())
        sys.argv = argv
        sys.path[:0] = self._folders
        sys.meta_path.insert(0, self)
        settrace(self._switched)
        try:
            yield
        finally:
            settrace(trace)
            sys.meta_path.remove(self)
            sys.argv, sys.path[:] = arguments, path
            for name in self._names | {"__main__"} | {name for name in modules if name.startswith("mpi4py")}:
                if name in saved:
                    modules[name] = saved[name]
                else:
                    modules.pop(name, None)

    def _switched(self, event: str, arguments: Any) -> None:
        old, new = arguments
        modules = sys.modules
        mine = self._of.get(old)
        if mine is not None:
            for name in self._names:
                found = modules.pop(name, None)
                if found is not None:
                    mine[name] = found
        other = self._of.get(new)
        if other is not None:
            modules.update(other)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """A module of the script's folder: the running rank gets a copy of its own."""
        if current_or_none() is None:
            return None
        parent = name.rpartition(".")[0]
        if parent and parent not in self._names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path if parent else self._folders)
        if spec is None:
            return None
        self._names.add(name)
        if isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path, self._code)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Reads and compiles a module once for all ranks."""

    def __init__(self, name: str, path: str, compiled: dict[str, Any]) -> None:
        super().__init__(name, path)
        self._compiled = compiled

    def get_code(self, fullname: str) -> Any:
        """The module's code."""
        if self.path not in self._compiled:
            self._compiled[self.path] = self.source_to_code(self.get_data(self.path), self.path)
        return self._compiled[self.path]


class _Rc:
    """mpi4py's options. They change nothing here."""

    initialize, threads, thread_level, finalize = True, False, "funneled", None
    fast_reduce, recv_mprobe, irecv_bufsz, errors = True, True, 32768, "exception"

    def __call__(self, **kwargs: Any) -> None:
        for key, value in kwargs.items():
            if not hasattr(self, key):
                raise TypeError(f"unexpected argument {key!r}")
            setattr(self, key, value)


def _mpi4py() -> dict[str, types.ModuleType]:
    """The package mpi4py of a run."""
    from fabricsim.mpi import MPI  # noqa: PLC0415 - only where a script runs

    package = types.ModuleType("mpi4py", "Fabricsim's stand-in for mpi4py")
    rc: Any = _Rc()
    spec = importlib.machinery.ModuleSpec("mpi4py", None, is_package=True)
    package.__dict__.update(__version__=MPI4PY_VERSION, __path__=[], __spec__=spec, MPI=MPI, rc=rc)
    package.__dict__.update(get_config=dict, get_include=str, profile=lambda *_, **__: None)
    return {"mpi4py": package, "mpi4py.MPI": MPI, "mpi4py.rc": rc}
