"""Files of results that were damaged: a message with the file, never an internal error, never a wrong number."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import fake_native
import pytest
from conftest import SMALL, Command
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import fabricsim as fs
from fabricsim.absent_columns import absent_columns_named
from fabricsim.cli import main
from fabricsim.sweep.journal import line_of, read_journal

LOAD = "traffic.0.load"
TUNE = """
[tune]
sampler = "grid"
fresh_seeds = 0
objectives = [{ metric = "accepted_load", goal = "maximize" }]

[tune.parameters]
"traffic.0.load" = { low = 0.1, high = 0.5, step = 0.2 }
"""
KINDS: dict[str, tuple[Callable[[Path], object], list[list[str]]]] = {
    "run": (fs.load, [["report", "out", "--no-bound"], ["compare", "out", "whole"], ["view", "out"]]),
    "sweep": (
        fs.load_sweep,
        [["sweep", "e.toml", "--vary", f"{LOAD}=0.1,0.2,0.3", "--jobs", "1", "--out", "out"]],
    ),
    "killed": (
        fs.load_sweep,
        [["sweep", "e.toml", "--vary", f"{LOAD}=0.1,0.2,0.3", "--jobs", "1", "--out", "out"]],
    ),
    "tune": (fs.load_tune, []),
}
"""For each kind of folder how it is read, and commands that read it."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each kind, as Fabricsim leaves it."""
    root = tmp_path_factory.mktemp("whole")
    (root / "e.toml").write_text(SMALL)
    # `patch.dict` would forget modules that are imported meanwhile, and pandas cannot be loaded twice.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "fabricsim._native", fake_native)
        fs.run(root / "e.toml", out=root / "run")
        fs.sweep(root / "e.toml", vary={LOAD: [0.1, 0.2, 0.3]}, jobs=1, out=root / "sweep")
        killed(root)
    return root


def killed(root: Path) -> None:
    """The folder of a sweep that was killed: two points in the journal, none in the table."""
    out = root / "killed"
    rows = fs.load_sweep(root / "sweep").points.to_dict("records")
    shutil.copytree(root / "sweep", out)
    fs.sweep(root / "e.toml", vary={LOAD: [0.1, 0.2, 0.3]}, jobs=1, out=out, force=True, stop=lambda: True)
    plain = [{str(key): value for key, value in row.items() if value is not None} for row in rows]
    (out / "sweep.jsonl").write_text("".join(line_of(at, row) for at, row in enumerate(plain[:2])))


@pytest.mark.parametrize("key", ["accepted_gbps", "simulated_s", "latency_ns", "invariants"])
def test_a_summary_that_was_edited_is_named(
    folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command, key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folders / "run", tmp_path / "out")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    manifest["summary"][key] = "x"
    (tmp_path / "out/manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "out/SHA256SUMS").unlink()
    shutil.copytree(tmp_path / "out", tmp_path / "whole")
    for arguments in (
        ["report", "out", "--no-bound"],
        ["compare", "out", "whole"],
        ["plot", "out"],
        ["view", "out"],
    ):
        ran = command(*arguments)
        assert ran.code == 1
        assert f"manifest.json: damaged: 'summary.{key}'" in ran.err


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Bytes replaced, removed or inserted."""
    kind = draw(st.sampled_from(["replace", "cut", "insert", "end"]))
    at = draw(st.floats(0, 1, exclude_max=True))
    new = draw(st.binary(min_size=1, max_size=4) | st.sampled_from([b'"', b"{", b"0", b"\n", b",", b"\xff"]))

    def damage(data: bytes) -> bytes:
        place = int(at * len(data))
        if kind == "replace":
            return data[:place] + new + data[place + len(new) :]
        if kind == "cut":
            return data[:place] + data[place + len(new) :]
        if kind == "insert":
            return data[:place] + new + data[place:]
        return data[:place]

    return damage


MANY = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("kind", ["run", "sweep", "killed"])
@MANY
@given(data=st.data(), damage=damages(), checked=st.booleans())
def test_damage_gives_a_message_or_the_same_results(
    folders: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    data: st.DataObject,
    damage: Callable[[bytes], bytes],
    checked: bool,
) -> None:
    monkeypatch.setitem(sys.modules, "fabricsim._native", fake_native)
    out = fresh(folders, tmp_path, kind)
    read, commands = KINDS[kind]
    before = read(out)
    name = data.draw(st.sampled_from(sorted(path.name for path in out.iterdir())))
    changed = damage((out / name).read_bytes())
    assume(changed != (out / name).read_bytes())
    (out / name).write_bytes(changed)
    if not checked:
        (out / "SHA256SUMS").unlink()
    problem, after = attempt(read, out)
    if problem is not None:
        assert str(out) in problem
    elif checked and kind != "killed":
        assert same(before, after), name
    if checked:
        for command in commands:
            code, err = called(monkeypatch, tmp_path, command)
            assert code in (0, 1, 2), err
            assert "internal error" not in err
            assert "Traceback" not in err
            assert code == 0 or "out" in err


def attempt(read: Callable[[Path], object], out: Path) -> tuple[str | None, object]:
    """The message, if it cannot be read, and what is read."""
    try:
        return None, read(out)
    except fs.FabricsimError as error:
        return str(error), None


def fresh(folders: Path, tmp_path: Path, kind: str) -> Path:
    """A copy of a whole folder as `out`."""
    for path in (tmp_path / "out", tmp_path / "whole"):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copy(folders / "e.toml", tmp_path / "e.toml")
    shutil.copytree(folders / "run", tmp_path / "whole")
    shutil.copytree(folders / kind, tmp_path / "out")
    return tmp_path / "out"


def same(before: object, after: object) -> bool:
    if isinstance(before, fs.SweepResult) and isinstance(after, fs.SweepResult):
        return before.points.equals(after.points)
    assert isinstance(before, fs.Result)
    assert isinstance(after, fs.Result)
    tables = all(frame.equals(before.frames[name]) for name, frame in after.frames.items())
    return tables and before.manifest == after.manifest


def called(monkeypatch: pytest.MonkeyPatch, folder: Path, arguments: list[str]) -> tuple[int, str]:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["fabricsim", *arguments])
    err = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0), err.getvalue()


@pytest.mark.usefixtures("fake")
class TestSweep:
    def test_a_damaged_line_is_named_and_its_point_runs_again(
        self, folders: Path, tmp_path: Path, command: Command
    ) -> None:
        out = fresh(folders, tmp_path, "killed")
        journal = out / "sweep.jsonl"
        lines = journal.read_text().splitlines(keepends=True)
        number = lines[0].index("offered_load") + len('offered_load": 0.')
        lines[0] = lines[0][:number] + "7" + lines[0][number + 1 :]
        journal.write_text("".join(lines))
        found = fs.load_sweep(out)
        assert list(found.points[LOAD]) == [0.2]
        assert found.damaged == (f"{journal}, line 1: damaged; the point in it is left out and runs again",)
        ran = command(*KINDS["sweep"][1][0])
        assert ran.code == 0
        assert "out/sweep.jsonl, line 1: damaged" in ran.err
        assert list(fs.load_sweep(out).points["offered_load"]) == [0.1, 0.2, 0.3]

    def test_a_damaged_table_says_how_to_go_on(self, folders: Path, tmp_path: Path, command: Command) -> None:
        out = fresh(folders, tmp_path, "sweep")
        table = out / "sweep.parquet"
        table.write_bytes(table.read_bytes()[:-20])
        ran = command(*KINDS["sweep"][1][0])
        assert ran.code == 1
        assert "out/sweep.parquet: damaged or edited" in ran.err
        table.unlink()
        assert command(*KINDS["sweep"][1][0]).code == 0
        assert len(fs.load_sweep(out).points) == 3

    @pytest.mark.parametrize(
        "text",
        [
            "[]", "[1]", "[1, 2]", "[1, {}]", '["a", {"status": "ok"}]', '[-1, {"status": "ok"}]',
            '[3, {"status": "ok"}]', '[true, {"status": "ok"}]', '{"a": 1}', "1", "null", "\ufffd", "[" * 100_000,
        ],
    )  # fmt: skip
    def test_lines_that_are_no_points(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "sweep.jsonl"
        path.write_text(f'{text}\n{line_of(1, {"status": "ok"})}[2, {{"status')
        journal = read_journal(path, 3)
        assert journal.rows == {1: {"status": "ok"}}
        assert len(journal.damaged) == 1
        assert "line 1: damaged" in journal.damaged[0]

    def test_lines_without_checksums_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "sweep.jsonl").write_text('[0, {"status": "ok"}]\n')
        assert read_journal(tmp_path / "sweep.jsonl", 1).rows == {0: {"status": "ok"}}


@pytest.mark.parametrize("key", ["name", "status", "summary", "experiment", "overrides", "kind", "file"])
@pytest.mark.usefixtures("fake")
def test_a_manifest_without_checksum_is_checked_by_its_keys(folders: Path, tmp_path: Path, key: str) -> None:
    out = fresh(folders, tmp_path, "run")
    (out / "SHA256SUMS").unlink()
    text = json.loads((out / "manifest.json").read_text())
    for value in (None, 3.5, [1]):
        (out / "manifest.json").write_text(json.dumps(text | {key: value}))
        with pytest.raises(fs.StoreError, match=f"manifest.json: damaged: '{key}'"):
            fs.load(out)
    del text[key]
    (out / "manifest.json").write_text(json.dumps(text))
    with pytest.raises(fs.StoreError, match=f"'{key}' is missing"):
        fs.load(out)


@pytest.mark.parametrize("name", ["nodes", "links", "flows", "series"])
@pytest.mark.usefixtures("fake")
def test_a_missing_table_is_named(folders: Path, tmp_path: Path, command: Command, name: str) -> None:
    out = fresh(folders, tmp_path, "run")
    (out / f"{name}.parquet").unlink()
    with pytest.raises(fs.StoreError, match=f"out/{name}.parquet: missing, although SHA256SUMS lists it"):
        fs.load(out)
    for arguments in KINDS["run"][1]:
        if arguments[0] == "view" and name in ("flows", "series"):
            continue  # which the viewer does not read
        ran = command(*arguments)
        assert ran.code == 1, ran.out
        assert f"out/{name}.parquet: missing" in ran.err
        assert len(ran.err.strip().splitlines()) == 1
    sums = (out / "SHA256SUMS").read_text().splitlines(keepends=True)
    (out / "SHA256SUMS").write_text("".join(line for line in sums if f" {name}." not in line))
    assert name not in fs.load(out).frames


@pytest.mark.usefixtures("fake")
def test_a_table_that_is_just_written_is_not_missing(folders: Path, tmp_path: Path) -> None:
    out = fresh(folders, tmp_path, "run")
    (out / "flows.parquet").rename(out / ".flows.parquet")
    assert "flows" not in fs.load(out).frames


def test_checksums_are_those_of_sha256sum(folders: Path) -> None:
    import subprocess  # noqa: PLC0415

    for kind in ("run", "sweep"):
        ran = subprocess.run(
            ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folders / kind, check=False
        )
        assert ran.returncode == 0


@pytest.mark.parametrize(
    ("table", "column", "commands"),
    [
        ("links", "utilisation", ["report", "plot", "view"]),
        ("series", "source", ["report", "plot", "compare"]),
        ("flows", "destination", ["report", "plot", "compare"]),
        ("nodes", "x", ["plot", "view"]),
        ("packet_hops", "waited_ns", ["packets"]),
    ],
)
@pytest.mark.usefixtures("real")
def test_a_table_without_a_column_is_named(
    tmp_path: Path, command: Command, table: str, column: str, commands: list[str]
) -> None:
    (tmp_path / "e.toml").write_text(SMALL)
    settings = {"measure.packets": ["* -> *"], "run.duration": "10 us"}
    for name in ("out", "whole"):
        fs.run(tmp_path / "e.toml", out=tmp_path / name, set=settings)
    path = tmp_path / "out" / f"{table}.parquet"
    parquet.write_table(parquet.read_table(path).drop_columns([column]), path)
    sums = tmp_path / "out/SHA256SUMS"
    kept = [line for line in sums.read_text().splitlines(keepends=True) if f" {table}." not in line]
    sums.write_text("".join(kept))
    for name in commands:
        ran = command(name, "out", *(["whole"] if name == "compare" else []))
        assert ran.code == 1, ran
        message = f"fabricsim: out: the table '{table}' is damaged: it has no column '{column}'\n"
        assert ran.err.endswith(message), ran.err


@pytest.mark.usefixtures("fake")
def test_other_missing_keys_stay_internal_errors(folders: Path) -> None:
    with pytest.raises(KeyError, match="utilisation"), absent_columns_named([fs.load(folders / "run")]):
        raise KeyError("utilisation of nothing that a table lacks")
