"""Whatever is wrong in what a user gives: one message that says where and what is allowed, nothing on standard output,
an exit code. Every command runs in a process of its own.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import bad_graphs
import pytest
from conftest import SMALL, Ran

pytestmark = pytest.mark.usefixtures("real")
POOL = Path(__file__).with_name("command_pool.py")
LAST_LINE = SMALL.count("\n")


@dataclass(frozen=True)
class Bad:
    """A command that is refused, and what its message says."""

    parts: tuple[str, ...]
    arguments: tuple[str, ...] = ("run", "e.toml", "--json")
    files: Mapping[str, str | bytes] = field(default_factory=dict)


def given(text: str | bytes, *parts: str) -> Bad:
    """An experiment file."""
    return Bad(parts, files={"e.toml": text})


def changed(old: str, new: str, *parts: str) -> Bad:
    """The small experiment with a change."""
    assert old in SMALL
    return given(SMALL.replace(old, new), *parts)


def added(text: str, *parts: str) -> Bad:
    """The small experiment with more at its end."""
    return given(f"{SMALL}{text}\n", *parts)


def put(assignment: str, *parts: str) -> Bad:
    """The small experiment with a value set on the command line."""
    key = assignment.partition("=")[0]
    told = (f"fabricsim: e.toml: {key}", *parts)
    return Bad(told, ("run", "e.toml", "--json", "--set", assignment), {"e.toml": SMALL})


def called(arguments: str, *parts: str) -> Bad:
    """A command line on the small experiment."""
    return Bad(parts, tuple(arguments.split()), {"e.toml": SMALL})


SYNTAX = {
    "empty file": given("", "e.toml:1: missing field `topology`"),
    "no end": given(SMALL.replace("[run]", "").replace('duration = "100 us"', ""), "missing field `run`"),
    "not TOML": changed("[3, 3]", "[3, ", "e.toml:6: "),
    "not UTF-8": given(SMALL.encode() + b"#\xe4", "e.toml: this is not UTF-8 text"),
    "binary": given(bytes(range(32)), "e.toml:1: "),
    "nested without end": given("a = " + "[" * 100_000, "e.toml:1: ", "recur"),
    "dotted without end": given("a." * 50_000 + "a = 1", "nested too deep"),
    "a table twice": added("[run]", f"e.toml:{LAST_LINE + 1}: duplicate key"),
    "a number too large": given("seed = 99999999999999999999\n" + SMALL, "e.toml:1: "),
}

KEYS = {
    "unknown key": changed(
        "load =", "laod =", "e.toml:7: traffic.0.laod: unknown field `laod`", "mean `load`?"
    ),
    "unknown table": added("[swich]\nx = 1", "unknown field `swich`", "did you mean `switch`?"),
    "unknown word": changed(
        '"uniform"', '"unifrom"', "e.toml:6: traffic.0.pattern", "did you mean `uniform`?"
    ),
    "wrong kind": changed("[3, 3]", '"3x3"', "e.toml:3: topology.mesh.dimensions: expected a list", '"3x3"'),
    "wrong unit": changed("100 us", "100 Gb/s", "e.toml:11: run.duration: ", "is not a time", "40 ns"),
    "no unit": changed('"100 us"', "100", "e.toml:11: run.duration: expected a number and a unit in quotes"),
    "unit of a message": changed("2 KiB", "2 KiBs", "e.toml:8: traffic.0.message: ", "is not a data size"),
    "negative rate": added(
        '[links.all]\nrate = "-32 Gb/s"', f"e.toml:{LAST_LINE + 2}: links.all.rate: ", "negative"
    ),
    "rate of 0": added('[links.all]\nrate = "0 Gb/s"', "links.all.rate: ", "within 1 Mb/s and 16 Tb/s"),
    "two topologies": added("[topology.torus]\ndimensions = [3]", "topology: expected exactly one kind"),
    "no such topology": changed("topology.mesh", "topology.messh", "unknown variant `messh`", "mean `mesh`?"),
    "naming where there is none": given(
        SMALL.replace("topology.mesh", "topology.hypercube").replace("[3, 3]", "3\nnaming = 'thesis'"),
        "e.toml:4: topology.hypercube: unknown field `naming`",
    ),
    "number for a text": given("title = 5\n" + SMALL, "e.toml:1: title: expected a text in quotes, found 5"),
}

TOPOLOGIES = {
    "radix 0": changed(
        "[3, 3]", "[3, 0]", "e.toml:3: topology.mesh.dimensions.1: 0 is not allowed: give at least 1"
    ),
    "radix below 0": changed(
        "[3, 3]", "[-3, 3]", "topology.mesh.dimensions.0: expected a whole number from 0"
    ),
    "a thousand million nodes": changed("[3, 3]", "[1000, 1000, 1000]", "e.toml:3: ", "at most 16000000"),
    "wrap for too few": put(
        "topology={ grid = { dimensions = [3, 3], wrap = [true] } }", "one for each of the 2"
    ),
    "wrap of a mesh": put("topology.mesh.wrap=[true, false]", "only for kind `grid`"),
    "names of the thesis in 4D": put(
        'topology.mesh={ dimensions = [2, 2, 2, 2], naming = "thesis" }', "use `coordinates`"
    ),
    "no hosts": put("topology.mesh.hosts_per_switch=0", "every switch has 1 host or more"),
    "very many hosts": put("topology.mesh.hosts_per_switch=2000", "at most 1024 are allowed"),
    "a ring of two": put("topology={ ring = { switches = 2 } }", "from 3 to"),
    "a link that is not there": added(
        '[links.named."S(0,0)-S(0,9)"]\nrate = "1 Gb/s"',
        f'e.toml:{LAST_LINE + 1}: links.named."S(0,0)-S(0,9)": no link has this name',
        "did you mean `S(0,0)-S(0,1)`?",
    ),
    "a dimension that is not there": added(
        '[links.dimension]\nz.rate = "1 Gb/s"',
        f"e.toml:{LAST_LINE + 2}: links.dimension.z: no dimension `z`: allowed are 0, 1, x, y",
    ),
    "latency of 0": put("links.all.latency=0 ns", "at least 1 ps"),
    "larger than a buffer": Bad(
        (
            "fabricsim: e.toml: host.mtu: a packet of 33 KiB",
            "would never move",
            "a buffer of at least 33 KiB",
        ),
        ("run", "e.toml", "--set", "host.mtu=33 KiB", "--set", "traffic.0.message=1 MiB"),
        {"e.toml": SMALL},
    ),
}

VALUES = {
    "load below 0": put("traffic.0.load=-0.1", "above 0 and at most 10", "(set on top of the file)"),
    "load not a number": put("traffic.0.load=nan", "NaN is not allowed"),
    "load without end": put("traffic.0.load=inf", "inf is not allowed"),
    "load as text": put("traffic.0.load=much", 'expected a number, found the text "much"'),
    "unknown host": put('traffic.0.sources=["H(0,0).1"]', "neither a host nor a group", 'mean "H(0,0).0"?'),
    "unknown destination": put('traffic.0.pattern={ to = "H(9,9).0" }', "is neither a host nor a group"),
    "no host matches": put('traffic.0.sources=["x*"]', 'hosts have names like "H(0,0).0"'),
    "groups in a circle": put('groups={ a = ["b"], b = ["a"] }', "a group contains itself: a -> b -> a"),
    "not a power of two": put('traffic.0.pattern="bit-reverse"', "a power of two, not 9"),
    "fraction above 1": put(
        'traffic.0.pattern={ hot-spot = { hosts = ["*"], fraction = 2.0 } }', "from 0 to 1"
    ),
    "message of nothing": put("traffic.0.message=0 B", "from 1 B to 256 TiB"),
    "stop before the start": put("traffic.0.stop=0 ns", "later than `start`"),
    "seed below 0": put("seed=-1", "expected a whole number from 0 to"),
    "seed beyond 64 bits": put("seed=18446744073709551616", "expected a whole number from 0 to"),
    "duration of 0": put("run.duration=0 ns", "0 is not allowed"),
    "duration beyond the clock": put("run.duration=99999999 s", "it is out of range"),
    "sum beyond the clock": put("run.warmup=18446744 s", "warm-up and duration are", "at most 604800 s"),
    "drain of 0": put("run.drain_limit=0 ns", "0 is not allowed"),
    "no partitions": put("run.partitions=0", "from 1 to 256"),
    "partitions beyond 32 bits": put("run.partitions=4294967296", "from 1 to 256"),
    "precision of 0": put("run.steady_state={ precision = 0.0 }", "between 0 and 1"),
    "confidence of 1": put("run.steady_state={ confidence = 1.0 }", "between 0 and 1"),
    "batch longer than the run": put('run.steady_state={ batch = "1 s" }', "room for 10 batches"),
    "bin of 0": put("measure.bin=0 ns", "0 is not allowed"),
    "fill of 0": put(
        "measure.congestion_fill=0", "measure.congestion_fill", "give a part of an input buffer above 0"
    ),
    "negative fill": put("measure.congestion_fill=-0.5", "-0.5 is not allowed"),
    "mtu of 0": put("host.mtu=0 B", "give a size from 1 B to"),
    "no open message": put("host.open_messages=0", "1 open message or more"),
    "half a pause": put('host.sink={ pause_for = "1 us" }', "`pause_every` is missing"),
    "lanes": put("switch.virtual_lanes=999", "expected a whole number from 1 to 16, found 999"),
    "lanes below 256": put("switch.virtual_lanes=17", "from 1 to 16"),
    "flow control unit": put("switch.flow_control_unit=0 B", "give a size from 1 B to"),
    "router without end": put("switch.router_delay=18446744073709551615 ps", "give at most 1 s"),
    "not a key": put("traffic..load=1", "this is not a key"),
    "a key without end": Bad(
        ("fabricsim: e.toml: a.a.", "40000 parts"),
        ("run", "e.toml", "--set", ".".join("a" * 40_000) + "=1"),
        {"e.toml": SMALL},
    ),
    "no such entry": put("traffic.1.load=1", "it has 1, counted from 0"),
    "two loads": Bad(
        ("e.toml:7: traffic.0.load: give `load` or `rate`, not both",),
        ("run", "e.toml", "--set", "traffic.0.rate=1 Gb/s"),
        {"e.toml": SMALL},
    ),
    "order of dimensions": put("routing.order=[0, 0]", "each of [0, 1] once"),
    "routing of trees": put("routing.algorithm=up-down", "needs a fat tree", "`dimension-order` fits"),
}

FILES = {
    "no such file": called("run nowhere.toml", "nowhere.toml: no such file"),
    "nearly the file": called("run f.toml", "did you mean e.toml?"),
    "a folder": called("run .", ".: this is a folder, not an experiment file"),
    "no end of a file": called("run /dev/zero", "/dev/zero: this is larger than 64 MiB"),
    "folder exists": called("run e.toml --json --out .", ".: this exists", "--force"),
    "not a folder of results": called("run e.toml --json --out . --force", "not a folder of results"),
    "below a file": called(
        "run e.toml --json --out e.toml/results", "e.toml/results: results cannot be written there"
    ),
    "not an assignment": called("run e.toml --set load", "'load' is not an assignment"),
    "not a format": called("export e.toml --format nde", "expected one of toml, csv", 'did you mean "ned"?'),
    "not results": called("plot .", "not a folder of results: it has no manifest.json"),
    "an experiment is no results": called(
        "report e.toml", "e.toml: ", "`fabricsim run e.toml --out FOLDER` writes"
    ),
    "check": called("check e.toml --json --set run.duration=0", "e.toml: run.duration: "),
    "describe": called("describe e.toml --json --set run.duration=0", "e.toml: run.duration: "),
    "sweep": called("sweep e.toml --json --vary traffic.0.load=0.1,-1", "e.toml: traffic.0.load: -1"),
    "sweep over nothing": called("sweep e.toml --json", "nothing to sweep over"),
}

GRAPHS = {
    name: Bad(parts, files={"e.toml": bad_graphs.experiment(file), file: content})
    for name, (file, content, parts) in bad_graphs.CASES.items()
}
TABLES = {
    name: Bad(parts, files={"e.toml": bad_graphs.WITH_TABLES, "t.fdbs": content})
    for name, (content, parts) in bad_graphs.TABLES.items()
}
CASES = {**SYNTAX, **KEYS, **TOPOLOGIES, **VALUES, **FILES, **GRAPHS, **TABLES}


class Pool:
    """Runs commands by `command_pool.py`, one after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, POOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def run(self, bad: Bad, folder: Path) -> Ran:
        for name, content in bad.files.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        wanted = {"arguments": bad.arguments, "folder": str(folder)}
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        return Ran(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.close()


@pytest.mark.parametrize("name", CASES)
def test_one_message_says_what_is_wrong(pool: Pool, tmp_path: Path, name: str) -> None:
    ran = pool.run(CASES[name], tmp_path)
    assert ran.code == 2, ran
    assert ran.out == ""
    assert ran.err.startswith("fabricsim: ")
    assert ran.err.count("fabricsim: ") == 1
    assert ran.err.strip().count("\n") == 0, "one line"
    for wrong in ("Traceback", "panicked", "internal error"):
        assert wrong not in ran.err
    for part in CASES[name].parts:
        assert part in ran.err


def test_nothing_is_left_of_a_refused_run(pool: Pool, tmp_path: Path) -> None:
    pool.run(put("run.duration=0 ns"), tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.name not in ("e.toml", "runs")] == []


@pytest.mark.parametrize(
    "assignment",
    [
        "traffic=[]",
        "traffic.0.load=1e-12",
        "traffic.0.start=1 s",
        "traffic.0.messages=1",
        'title="[/] $\\\\frac{"',
        "run.partitions=256",
        "run.duration=1 ps",
        "measure.bin=1 ps",
        "measure.bin=1 s",
        "topology={ single-switch = { hosts = 2 } }",
        "traffic.0.message=256 TiB",
        "run.steady_state={}",
    ],
)
def test_what_is_odd_but_has_a_meaning_runs(pool: Pool, tmp_path: Path, assignment: str) -> None:
    arguments = ("run", "e.toml", "--plot", "--out", "r", "--set", "run.duration=10 us", "--set", assignment)
    ran = pool.run(Bad((), arguments, {"e.toml": SMALL}), tmp_path)
    assert ran.code == 0, ran
    if assignment == "traffic.0.start=1 s":
        assert ran.err.count("\n") == 1, ran
        assert "warning: e.toml: traffic.0 sends nothing: it starts at 1 s" in ran.err
    else:
        assert ran.err == ""
    summary = json.loads((tmp_path / "r" / "manifest.json").read_text())["summary"]
    assert summary["invariants"]["packets_ok"]
    assert summary["invariants"]["credits_ok"]


ENDLESS = SMALL.replace("100 us", "600000 s")


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_mid_run_keeps_what_was_computed(
    tmp_path: Path, number: signal.Signals, partitions: int
) -> None:
    (tmp_path / "e.toml").write_text(ENDLESS)
    assignment = f"run.partitions={partitions}"
    process = _started(tmp_path, "run", "e.toml", "--json", "--out", "r", "--set", assignment)
    _wait_for(lambda: any(tmp_path.glob(".r.*")))
    time.sleep(1.0)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    summary = json.loads(out)
    assert summary["status"] == "interrupted"
    assert 0 < summary["simulated_s"] < 600_000
    assert summary["packet_hops"] > 0
    assert summary["invariants"]["packets_ok"]
    assert summary["invariants"]["credits_ok"]
    assert summary["defect"] == ""
    assert (tmp_path / "r" / "flows.parquet").exists()
    assert not list(tmp_path.glob(".r.*"))


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(ENDLESS)
    process = _started(tmp_path, "run", "e.toml", "--out", "r")
    _wait_for(lambda: any(tmp_path.glob(".r.*")))
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err


def test_a_signal_while_a_network_is_described(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(SMALL.replace("[3, 3]", "[1500, 1500]"))
    process = _started(tmp_path, "describe", "e.toml", "--json")
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err


def _started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "fabricsim", *arguments]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )


def _wait_for(condition: Callable[[], bool]) -> None:
    """For what the command does when it has begun: its folder of results is there under a name of its own."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < 60
        time.sleep(0.02)
