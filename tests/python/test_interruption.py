"""Signals at every time: one line, the documented exit code, nothing lost that was computed, no process left."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ENDLESS, ended, is_alive, processor_s, staging, started, wait_until, workers

import fabricsim as fs

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
MODULE = [sys.executable, "-m", "fabricsim"]
SCRIPT = [sys.executable, "-c", "from fabricsim_command import main; main()"]
"""What the installed program does."""
BUSY_S = 2.0
"""Processor time after which a worker has imported everything, and simulates."""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("program", [MODULE, SCRIPT], ids=["module", "script"])
def test_a_signal_while_the_package_is_imported_is_one_line(
    tmp_path: Path, number: signal.Signals, program: list[str]
) -> None:
    slow = tmp_path / "slow" / "numpy"
    slow.mkdir(parents=True)
    (slow / "__init__.py").write_text("import os, time\nos.write(1, b'importing\\n')\ntime.sleep(600)\n")
    path = os.pathsep.join([str(slow.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    process = started(tmp_path, "mpi", "--help", command=program, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    process.send_signal(number)
    assert ended(process) == (130, "", "interrupted\n")


AT_AN_IMPORT = """
import os, sys
count = -1

def strike(event, arguments):
    global count
    if event == "import" and (count >= 0 or arguments[0] == "fabricsim_command"):
        count += 1
        if count == {nth}:
            os.kill(os.getpid(), {number})

sys.addaudithook(strike)
from fabricsim_command import main
main()
"""
"""The program, in which the n-th import after that of its first module sends it a signal."""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("nth", [1, 2, 3, 10, 100, 300])
def test_a_signal_at_any_import_is_one_line(tmp_path: Path, number: signal.Signals, nth: int) -> None:
    code = AT_AN_IMPORT.format(nth=nth, number=int(number))
    assert ended(started(tmp_path, "mpi", "--help", command=[sys.executable, "-c", code])) == (
        130,
        "",
        "interrupted\n",
    )


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_before_the_installed_program_calls_is_one_line(
    tmp_path: Path, number: signal.Signals
) -> None:
    """What pip writes has lines between the import and the call."""
    script = tmp_path / "fabricsim"
    script.write_text(
        f"from fabricsim_command import main\nimport os\nos.kill(os.getpid(), {int(number)})\nmain()\n"
    )
    process = started(tmp_path, "--version", command=[sys.executable, str(script)])
    assert ended(process) == (130, "", "interrupted\n")


def test_handlers_are_there_before_the_module_imports_anything(tmp_path: Path) -> None:
    """`python -m fabricsim` has them as early as the installed program: its package is imported first."""
    hook = tmp_path / "sitecustomize.py"
    hook.write_text(
        "import os, signal, sys\n"
        "begun = False\n"
        "def strike(event, arguments):\n"
        "    global begun\n"
        "    if event == 'import' and begun and arguments[0] != 'fabricsim_command':\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    begun = begun or event == 'import' and arguments[0] == 'fabricsim'\n"
        "sys.addaudithook(strike)\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = started(tmp_path, "--version", env={**os.environ, "PYTHONPATH": path})
    assert ended(process) == (130, "", "interrupted\n")


AROUND_THE_COMMAND = """
import os
from contextlib import contextmanager
import fabricsim.cli as cli
from fabricsim_command import main

lenient = cli.lenient

@contextmanager
def striking():
    {before}
    try:
        with lenient() as streams:
            yield streams
    finally:
        {after}

cli.lenient = striking
main()
"""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_signal_beside_the_command_is_no_traceback(
    tmp_path: Path, number: signal.Signals, when: str
) -> None:
    strike = {"before": "pass", "after": "pass", when: f"os.kill(os.getpid(), {int(number)})"}
    command = [sys.executable, "-c", AROUND_THE_COMMAND.format(**strike)]
    code, _, err = ended(started(tmp_path, "mpi", "--help", command=command))
    assert (code, err) == (130, "interrupted\n")


AT_THE_END = """
import builtins, os
from fabricsim_command import main

class Last:
    def __del__(self, kill=os.kill, process=os.getpid(), number={number}):
        kill(process, number)

builtins.last = Last()
main()
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_interpreter_ends_changes_nothing(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", AT_THE_END.format(number=int(number))]
    code, out, err = ended(started(tmp_path, "mpi", "--help", command=command))
    assert (code, err) == (0, "")
    assert out


IN_AN_EXEC = """
import fabricsim.cli as cli
from fabricsim_command import main

def app():
    cli.complain("all is imported")
    exec("import os; os.kill(os.getpid(), {number})")

cli.app = app
main()
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_a_text_is_executed_has_its_exit_code(tmp_path: Path, number: signal.Signals) -> None:
    """Imports execute texts (dataclasses). After a KeyboardInterrupt in one `python -m` ended by SIGINT."""
    (tmp_path / "program.py").write_text(IN_AN_EXEC.format(number=int(number)))
    command = [sys.executable, "-m", "program"]
    assert ended(started(tmp_path, command=command)) == (130, "", "all is imported\ninterrupted\n")


@pytest.mark.usefixtures("real")
class TestRun:
    @pytest.fixture
    def endless(self, tmp_path: Path) -> Path:
        (tmp_path / "e.toml").write_text(ENDLESS)
        return tmp_path

    @pytest.mark.parametrize("number", SIGNALS)
    def test_a_signal_keeps_what_was_computed(self, endless: Path, number: signal.Signals) -> None:
        process = started(endless, "run", "e.toml", "--out", "out")
        wait_until(lambda: staging(endless / "out"))
        wait_until(lambda: processor_s(process.pid) > BUSY_S)
        process.send_signal(number)
        code, out, err = ended(process)
        assert (code, err) == (130, "stopping, results so far are kept; once more to end at once\n")
        assert "results: out" in out
        assert fs.load(endless / "out").summary["packet_hops"] > 0

    def test_nohup_is_respected(self, endless: Path) -> None:
        process = started(endless, "run", "e.toml", "--out", "out", prepare=lambda: ignore(signal.SIGHUP))
        wait_until(lambda: staging(endless / "out"))
        wait_until(lambda: processor_s(process.pid) > BUSY_S)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        code, out, _ = ended(process)
        assert code == 130
        assert "results: out" in out, "the first of two signals would have been the last"

    def test_a_terminal_that_is_hung_up_loses_nothing(self, endless: Path) -> None:
        ours, theirs = pty.openpty()
        process = started(
            endless,
            "run",
            "e.toml",
            "--out",
            "out",
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            prepare=control_terminal,
        )
        os.close(theirs)
        os.set_blocking(ours, False)
        wait_until(lambda: drained(ours) and staging(endless / "out"))
        wait_until(lambda: drained(ours) and processor_s(process.pid) > BUSY_S)
        os.close(ours)
        assert ended(process)[0] == 130
        assert fs.load(endless / "out").status == "interrupted"

    def test_a_network_that_is_built_is_interruptible_and_says_so(self, endless: Path) -> None:
        ours, theirs = pty.openpty()
        size = "topology.mesh.dimensions=[1500, 1500]"
        process = started(endless, "run", "e.toml", "--out", "out", "--set", size, stderr=theirs)
        os.close(theirs)
        shown = b""
        while b"building: " not in shown:
            shown += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        shown = read_to_the_end(ours)
        code, out, _ = ended(process)
        assert (code, out) == (130, "")
        assert "interrupted while the network was built" in " ".join(shown.decode().split())
        assert sorted(path.name for path in endless.iterdir()) == ["e.toml"]


@pytest.mark.usefixtures("real")
class TestSweep:
    @pytest.fixture
    def sweep(self, tmp_path: Path) -> subprocess.Popen[str]:
        (tmp_path / "e.toml").write_text(ENDLESS)
        process = started(tmp_path, "sweep", "e.toml", "--vary", "seed=1,2,3", "--jobs", "2", "--out", "out")
        wait_until(lambda: len(workers(process.pid)) == 2)
        for worker in workers(process.pid):
            wait_until(lambda worker=worker: processor_s(worker) > BUSY_S)  # type: ignore[misc]
        return process

    def test_workers_end_with_a_parent_that_is_killed(self, sweep: subprocess.Popen[str]) -> None:
        found = workers(sweep.pid)
        sweep.kill()
        assert ended(sweep)[0] == -signal.SIGKILL
        wait_until(lambda: not any(map(is_alive, found)), "workers go on without their parent")

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
    def test_a_signal_from_the_terminal_strikes_no_worker(
        self, sweep: subprocess.Popen[str], number: signal.Signals
    ) -> None:
        found = workers(sweep.pid)
        for worker in found:
            os.kill(worker, number)
        sweep.send_signal(number)
        code, _, err = ended(sweep)
        assert code == 130
        assert err == (
            "stopping, results so far are kept; once more to end at once\n"
            "0 of 3 points are done; give --out out to go on\n"
        )
        wait_until(lambda: not any(map(is_alive, found)))

    def test_a_second_signal_ends_at_once_though_workers_do_not_answer(
        self, sweep: subprocess.Popen[str]
    ) -> None:
        found = workers(sweep.pid)
        for worker in found:
            os.kill(worker, signal.SIGSTOP)
        sweep.send_signal(signal.SIGINT)
        assert sweep.stderr is not None
        assert sweep.stderr.readline().startswith("stopping")
        sweep.send_signal(signal.SIGINT)
        assert sweep.wait(60) == 130
        for worker in found:
            os.kill(worker, signal.SIGCONT)
        wait_until(lambda: not any(map(is_alive, found)), "workers go on without their parent")
        assert ended(sweep)[2] == "interrupted\n"


def ignore(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_IGN)


def control_terminal() -> None:
    """Makes standard input the terminal of the session, so that its end is a SIGHUP."""
    import fcntl  # noqa: PLC0415
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def drained(terminal: int) -> bool:
    """Reads what there is, so that the other side can go on writing."""
    try:
        os.read(terminal, 65536)
    except OSError:
        return True
    return True


def read_to_the_end(terminal: int) -> bytes:
    """What comes until the last process has closed the other side."""
    found = b""
    while True:
        try:
            found += os.read(terminal, 65536)
        except OSError:
            os.close(terminal)
            return found
