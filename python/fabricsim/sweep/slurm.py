"""Work in jobs of a Slurm cluster, by dask-jobqueue."""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fabricsim.errors import InputError
from fabricsim.sweep.cluster import CONNECT_S, closing, import_distributed, work_with
from fabricsim.sweep.pool import OnDone, OnLost, Stop, Work, never

T = TypeVar("T")
R = TypeVar("R")

OPTIONS: dict[str, tuple[str, str, str]] = {
    "jobs": ("1", r"[1-9]\d{0,4}", "number of Slurm jobs"),
    "cores": ("1", r"[1-9]\d{0,4}", "processors of each job; a worker process for each"),
    "memory": ("4 GiB", r"[1-9]\d*(\.\d+)? ?[kMGT]i?B", "memory of each job"),
    "walltime": ("01:00:00", r"(\d+-)?\d{1,2}:\d\d:\d\d", "longest time of a job"),
    "partition": ("", r"\S+", "partition (queue) to submit to; by default the cluster's own"),
    "account": ("", r"\S+", "account to charge"),
    "interface": ("", r"\S+", "network interface by which workers and this machine reach each other, as ib0"),
    "directive": ("", r"-.+", "one more line of the job script after #SBATCH, as --qos=low"),
}
"""Options by name: default, what their text has to match, meaning."""


@dataclass(frozen=True)
class SlurmExecutor:
    """See `fabricsim.sweep.executors.slurm`."""

    options: Mapping[str, str]
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        checked(self.options)
        _import_jobqueue()
        for program in ("sbatch", "scancel"):
            if shutil.which(program) is None:
                raise InputError(
                    f"--slurm: there is no program {program} here: call this on a machine of a Slurm cluster "
                    "from which jobs can be submitted"
                )

    def work_through(
        self,
        tasks: Iterable[T],
        work: Work[T, R],
        on_done: OnDone[T, R],
        *,
        stop: Stop = never,
        on_lost: OnLost[T] | None = None,
    ) -> bool:
        """See `fabricsim.sweep.executors.Executor`."""
        options = checked(self.options)
        jobs = int(options["jobs"])
        cluster = _cluster(options)
        try:
            cluster.scale(jobs=jobs)
            self.say(f"{jobs} Slurm job{'s' if jobs > 1 else ''} submitted")
            client = import_distributed().Client(cluster, timeout=CONNECT_S, set_as_default=False)
            with closing(client):
                return work_with(client, tasks, work, on_done, stop=stop, on_lost=on_lost, say=self.say)
        finally:
            cluster.close()


def checked(options: Mapping[str, str]) -> dict[str, str]:
    """All options, those that are not given with their defaults.

    Raises:
        InputError: there is no such option, or a value is none for it.
    """
    for name, value in options.items():
        if name not in OPTIONS:
            near = difflib.get_close_matches(name, OPTIONS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"--slurm: there is no option {name!r}; there are: {', '.join(OPTIONS)}{hint}")
        default, pattern, meaning = OPTIONS[name]
        if not re.fullmatch(pattern, value):
            example = f", for example {name}={default}" if default else ""
            raise InputError(f"--slurm: {name}={value} is not allowed: give the {meaning}{example}")
    return {name: default for name, (default, _, _) in OPTIONS.items()} | dict(options)


def _import_jobqueue() -> Any:
    import_distributed()
    try:
        import dask_jobqueue  # noqa: PLC0415 - an optional part of the installation
    except ModuleNotFoundError as error:
        raise InputError(
            f"dask-jobqueue is not installed (no module {error.name}): pip install 'fabricsim[cluster]'"
        ) from None
    return dask_jobqueue


def _cluster(options: Mapping[str, str]) -> Any:
    """A scheduler in this process, whose workers are Slurm jobs."""
    cores = int(options["cores"])
    return _import_jobqueue().SLURMCluster(
        queue=options["partition"] or None,
        account=options["account"] or None,
        cores=cores,
        processes=cores,
        memory=options["memory"],
        walltime=options["walltime"],
        interface=options["interface"] or None,
        job_extra_directives=[options["directive"]] if options["directive"] else [],
        scheduler_options={"dashboard_address": None},
    )
