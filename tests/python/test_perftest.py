"""The command `perftest` and its function."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from fabricsim.cli.app import app
from fabricsim.errors import InputError
from fabricsim.perftest import TESTS, perftest
from fabricsim.perftest import Test as Perftest


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["perftest", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("test", TESTS)
def test_rows_have_the_promised_keys(test: str) -> None:
    found = json.loads(_run(test, "--size", "64", "--iters", "3000", "--json"))
    assert found["test"] == test
    (row,) = found["rows"]
    keys = (
        {"t_min_us", "t_typical_us", "t_avg_us", "p99_us", "p999_us"}
        if test.endswith("_lat")
        else {"bw_peak_mib_s", "bw_average_mib_s", "msg_rate_mpps"}
    )
    assert keys | {"bytes", "iterations", "expected", "parts"} <= set(row)
    assert (row["bytes"], row["iterations"]) == (64, 3000)
    measured = row["t_typical_us"] if test.endswith("_lat") else row["bw_average_mib_s"]
    assert measured == pytest.approx(row["expected"], rel=0.02)  # the first message is part of a mean


def test_all_sizes_in_a_table() -> None:
    lines = _run("read_lat", "--all", "--iters", "2").splitlines()
    assert [line.split()[0] for line in lines[1:]] == [str(1 << power) for power in range(1, 24)]


@pytest.mark.parametrize("connection", ["UC", "UD", "ud"])
def test_unreliable_services(connection: str) -> None:
    (row,) = json.loads(_run("send_lat", "--size", "64", "-c", connection, "--json"))["rows"]
    assert row["t_typical_us"] == pytest.approx(row["expected"], abs=0.0015)
    sizes = json.loads(_run("send_bw", "--all", "-n", "400", "-c", connection, "--json"))["rows"]
    assert sizes[-1]["bytes"] == (1 << 23 if connection == "UC" else 2048)


def test_another_adapter_and_link_are_faster() -> None:
    sets = {"adapter.profile": "connectx6-hdr", "links.all.rate": "200 Gb/s"}
    test = Perftest("write_bw", size=65536, iterations=600)
    slow, fast = perftest(test), perftest(test, set=sets)
    assert fast["bw_average_mib_s"].iloc[0] > 3 * slow["bw_average_mib_s"].iloc[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mtu": 100}, "mtu = 100: must be one of 256"),
        ({"outs": 17}, "outs = 17: must be 1 to 16"),
        ({"iterations": 1}, "iterations = 1"),
        ({"size": 0}, "size = 0"),
    ],
)
def test_options_have_ranges(change: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Perftest("write_lat", **change)  # type: ignore[arg-type]


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(InputError, match="there is no test 'ib_write'"):
        Perftest("ib_write")
    with pytest.raises(InputError, match="all of latency or all of bandwidth"):
        perftest([Perftest("write_lat"), Perftest("write_bw")])
    with pytest.raises(InputError, match='there is no host "H7"'):
        perftest(Perftest("write_lat"), server="H7")
    with pytest.raises(InputError, match="are both H0"):
        perftest(Perftest("write_lat"), client="H0", server="H0")
    with pytest.raises(InputError, match=r"host\.mtu"):
        perftest(Perftest("write_lat", mtu=4096), set={"host.mtu": "2 KiB"})


@pytest.mark.parametrize(
    ("test", "options", "message"),
    [
        (
            "write_lat",
            ["--tx-depth", "4"],
            "--tx-depth has no effect in write_lat: it is that of bandwidth tests",
        ),
        ("send_lat", ["-q", "2"], "--qp has no effect in send_lat"),
        ("write_bw", ["-q", "2", "-Q", "4"], "--cq-mod has no effect in write_bw: .* with one queue pair"),
        ("write_bw", ["-r", "4"], "--rx-depth has no effect in write_bw: it is that of send_bw"),
        ("write_bw", ["--outs", "4"], "--outs has no effect in write_bw: it is that of read_bw"),
        ("read_bw", ["-I", "4"], "--inline_size has no effect in read_bw"),
        ("write_lat", ["-e"], "--use-event has no effect in write_lat"),
    ],
)
def test_options_without_effect_are_refused(test: str, options: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CliRunner().invoke(app, ["perftest", test, *options], catch_exceptions=False)


def test_there_is_no_closed_form_without_receive_requests() -> None:
    options = ("send_bw", "--size", "64", "--iters", "500", "--rx-depth", "1")
    (row,) = json.loads(_run(*options, "--json"))["rows"]
    assert row["expected"] is None
    assert _run(*options).splitlines()[1].split()[-1] == "-"
