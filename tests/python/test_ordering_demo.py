"""`fabricsim ordering-demo`: two processes, a bad network, the same bytes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

from fabricsim import FabricsimError, InputError
from fabricsim.ordering_demo import Mode, demo, ordering_demo
from fabricsim.ordering_demo.process import Process

pytestmark = pytest.mark.usefixtures("real")

SHORT: dict[str, Any] = {"size": 150_000, "streams": 3, "loss": 0.02, "delay_us": 100, "jitter_us": 1000}


@pytest.mark.parametrize(
    ("mode", "exactly_once"),
    [("ordered", False), ("ordered", True), ("go-back-n", False), ("selective-ordered", False)],
)
def test_what_comes_out_is_what_went_in(mode: Mode, exactly_once: bool) -> None:
    result = ordering_demo(mode=mode, exactly_once=exactly_once, **SHORT)
    assert result.intact
    assert result.order_violations == 0
    assert result.bytes == result.target["bytes"] == result.source["bytes"] == SHORT["size"]
    assert result.target["idle"]
    assert result.source["wrong_results"] == 0
    # The network has done something against it.
    assert result.out_of_order_share > 0
    assert result.network["dropped"] > 0
    assert result.source["resent"] > 0
    assert result.mbytes_per_s > 0


def test_other_processes_of_the_machine_do_not_disturb() -> None:
    """Single bytes, and packets of a format without a token that name a part four thousand million further on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    far = bytes(8) + bytes(16) + bytes(2) + b"\xff" * 4 + b"x" * 100
    stop = threading.Event()

    def forge() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            while not stop.wait(0.0005):
                for role in (b"\0", b"\1"):
                    for datagram in (role, role + far, role + bytes(16), role + bytes(16) + far):
                        other.sendto(datagram, ("127.0.0.1", port))

    with ThreadPoolExecutor(1) as pool:
        forging = pool.submit(forge)
        try:
            result = ordering_demo(port=port, deadline_s=20, **SHORT)
        finally:
            stop.set()
        forging.result()
    assert result.intact
    assert result.network["ignored"] > 100
    assert (result.target["ignored"], result.source["ignored"]) == (0, 0)


def test_sockets_listen_on_the_loopback_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    bound: dict[str, list[str]] = {}
    original = Process.finish

    def look(self: Process) -> None:
        if self.role == "target" and not bound:
            bound["target"] = _udp_addresses(self.pid)
            bound["network"] = _udp_addresses(os.getpid())
        original(self)

    monkeypatch.setattr(Process, "finish", look)
    ordering_demo(**SHORT)
    assert len(bound["target"]) == 1
    assert bound["network"]
    assert {address for part in ("target", "network") for address in bound[part]} == {"127.0.0.1"}


def _udp_addresses(pid: int) -> list[str]:
    """Local addresses of the UDP sockets of a process."""
    links = []
    for entry in list(Path(f"/proc/{pid}/fd").iterdir()):
        with suppress(FileNotFoundError):  # the folder itself was open
            links.append(str(entry.readlink()))
    inodes = {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:")}
    found = []
    for table in ("udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes:
                address = bytes.fromhex(fields[1].partition(":")[0])[::-1]
                found.append(".".join(map(str, address)) if table == "udp" else fields[1])
    return found


def test_a_file_that_changes_meanwhile_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"a" * 1000)
    monkeypatch.setattr(demo, "_size", lambda _: 900)
    with pytest.raises(FabricsimError, match="source: 1000 bytes, but 900 were agreed"):
        ordering_demo(file=file)


def test_without_ordering_it_is_not() -> None:
    result = ordering_demo(mode="unordered", **SHORT)
    assert not result.intact
    assert result.order_violations > 0


def test_few_connections_lead_to_slow_mode() -> None:
    result = ordering_demo(connections=1, **{**SHORT, "loss": 0.0})
    assert result.intact
    assert result.source["no_connection"] > 0


def test_a_file_is_sent(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(range(256)) * 100)
    told = json.loads(command("ordering-demo", "--file", file, "--streams", 2, "--json").out)
    assert (told["intact"], told["bytes"]) == (True, 25_600)


def test_the_table_tells_throughput_and_order(command: Command) -> None:
    out = command("ordering-demo", "--bytes", 50_000, "--loss", 0).out
    for word in ("throughput", "arrived out of order", "those that went in"):
        assert word in out


def test_bad_arguments_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"2 bytes are too few for 4 streams"):
        ordering_demo(size=2)
    with pytest.raises(InputError, match=r"loss is 1\.5: must be 0 or more, and less than 1"):
        ordering_demo(loss=1.5)
    with pytest.raises(InputError, match=r"nothing.*cannot be read: No such file"):
        ordering_demo(file=Path("nothing"))
    with pytest.raises(InputError, match=r"cannot be read: Is a directory"):
        ordering_demo(file=tmp_path)
    with pytest.raises(InputError, match=r"packet_bytes is 2000: must be from 1 to 1400"):
        ordering_demo(packet_bytes=2000, size=10_000)
    with pytest.raises(InputError, match=r"exactly_once is for the modes ordered and source-ordered"):
        ordering_demo(exactly_once=True, mode="go-back-n")
    with pytest.raises(InputError, match=r"reorder_buffer is 0: must be from 1 to 32767"):
        ordering_demo(reorder_buffer=0)
    with pytest.raises(InputError, match=r"outstanding is 40000: with 16 bits of SEQ"):
        ordering_demo(outstanding=40_000)


def test_a_port_that_is_taken_is_one_message(command: Command) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        ran = command("ordering-demo", "--port", port)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"fabricsim: cannot bind UDP port {port}: address in use")
    assert len(ran.err.splitlines()) <= 2


@pytest.mark.parametrize("role", ["source", "target"])
def test_a_process_that_dies_is_one_message(monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    class Mortal(Process):
        def __init__(self, task: dict[str, Any]) -> None:
            super().__init__(task)
            if task["role"] == role:
                os.kill(self.pid, signal.SIGKILL)

    monkeypatch.setattr(demo, "Process", Mortal)
    with pytest.raises(FabricsimError, match=f"the {role} process ended by signal 9 before completion"):
        ordering_demo(**SHORT)


def test_a_process_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(Process):
        def __init__(self, task: dict[str, Any]) -> None:
            super().__init__(task)
            os.kill(self.pid, signal.SIGSTOP)

    monkeypatch.setattr(demo, "Process", Stopped)
    monkeypatch.setattr(demo, "GRACE_S", 0.2)
    with pytest.raises(FabricsimError, match="the source process did not end in 1 s"):
        ordering_demo(deadline_s=1, **SHORT)


def test_it_gives_up_at_the_deadline() -> None:
    with pytest.raises(
        FabricsimError, match=r"source: not complete after 1 s: \d+ of 2000000 bytes are acknowledged"
    ):
        ordering_demo(size=2_000_000, deadline_s=1, loss=0.99)


def test_ctrl_c_ends_all_processes() -> None:
    command = [sys.executable, "-m", "fabricsim", "ordering-demo", "--loss", "0.99"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        children = _endpoints(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err.strip()) == ("", "interrupted")
    assert len(children) == 2
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_endpoints_end_with_their_parent() -> None:
    command = [sys.executable, "-m", "fabricsim", "ordering-demo", "--loss", "0.99"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        children = _endpoints(process)
        process.kill()
    for _ in range(1200):  # a guard only
        if not any(_lives(child) for child in children):
            return
        time.sleep(0.05)
    pytest.fail("the endpoints go on without their parent")


def _endpoints(process: subprocess.Popen[Any]) -> list[str]:
    """The processes that a demonstration has started, as soon as there are both."""
    children: list[str] = []
    for _ in range(1200):  # a guard only
        with suppress(FileNotFoundError):
            threads = list(Path(f"/proc/{process.pid}/task").iterdir())
            children = [child for thread in threads for child in (thread / "children").read_text().split()]
        if len(children) == 2 or process.poll() is not None:
            break
        time.sleep(0.05)
    return children


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
