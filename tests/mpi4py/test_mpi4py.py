"""mpi4py's own tests, unmodified, in every rank. They come from its source distribution, by pip, into a cache.

MPI4PY_TESTS=all runs all modules with 1, 2, 3 and 5 ranks (about 20 minutes of one processor). By default the long ones
run with fewer numbers of ranks. MPI4PY_SDIST is a folder with the unpacked distribution; MPI4PY_REQUIRED=1 makes its
absence an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

VERSION = "4.1.2"
HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fabricsim"
SHORT = (
    *("p2p_obj", "p2p_obj_matched", "cco_obj", "cco_ngh_obj", "request", "status", "group", "op"),
    *("p2p_buf_matched", "comm", "comm_topo"),
)
LONG = {"p2p_buf": 2, "cco_buf": 2, "cco_vec": 2, "cco_nb_buf": 3, "cco_nb_vec": 3, "msgspec": 1}
LONG |= {"cco_pr_buf": 3, "cco_pr_vec": 2, "cco_pr_ngh_buf": 2}
"""Modules that take more than a minute with 5 ranks, and the number of ranks with which each runs by default."""
EVERY = os.environ.get("MPI4PY_TESTS") == "all"
CASES = [(module, ranks) for module in SHORT for ranks in (1, 2, 3, 5)] + [
    (module, ranks) for module, usual in LONG.items() for ranks in ((1, 2, 3, 5) if EVERY else (usual,))
]


def download() -> Path:
    """Folder of the unpacked distribution."""
    target = CACHE / f"mpi4py-{VERSION}"
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--no-binary", "mpi4py", "-d", str(CACHE), f"mpi4py=={VERSION}"], check=True)
        with tarfile.open(CACHE / f"mpi4py-{VERSION}.tar.gz") as archive:
            archive.extractall(CACHE, filter="data")
    return target


@pytest.fixture(scope="session")
def sources() -> Path:
    given = os.environ.get("MPI4PY_SDIST")
    try:
        folder = Path(given) if given else download()
    except (subprocess.CalledProcessError, OSError) as error:
        if os.environ.get("MPI4PY_REQUIRED"):
            raise
        print(f"\nmpi4py {VERSION} IS ABSENT, ITS TESTS DO NOT RUN: {error}", file=sys.__stderr__)
        pytest.skip(f"mpi4py {VERSION} cannot be downloaded: {error}")
    return folder / "test"


@pytest.mark.parametrize(("module", "ranks"), CASES)
def test_of_mpi4py(module: str, ranks: int, sources: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "fabricsim",
        "mpi",
        "run",
        "-n",
        str(ranks),
        "--own-modules",
        str(sources),
    ]
    done = subprocess.run(
        [*command, str(HERE / "suite.py"), f"test_{module}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    ran = [line for line in done.stdout.splitlines() if line.startswith("ran ")]
    assert len(ran) == ranks
    assert all(int(line.split()[1]) > 0 and line.endswith("failed 0") for line in ran), ran
