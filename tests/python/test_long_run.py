"""`scripts/long_run.py`: invariants and memory of a long run, in a short form."""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path

import long_run
import numpy as np
import pytest

MB = 2**20


def samples(grow: float, count: int = 200, noise: float = 0.0) -> list[tuple[int, int]]:
    """Memory that grows by `grow` bytes per 10^6 packet-hops, after a steep warm-up."""
    draw = np.random.default_rng(1)
    hops = np.linspace(0, 1e9, count + 1)
    resident = 200 * MB + grow * hops / 1e6 + noise * draw.standard_normal(count + 1)
    resident[: count // 20] -= 50 * MB
    return [(int(h), int(r)) for h, r in zip(hops, resident, strict=True)]


@pytest.mark.parametrize(("grow", "flat"), [(0.0, True), (500.0, True), (5_000.0, False), (-5_000.0, True)])
def test_growth_is_found(grow: float, flat: bool) -> None:
    rows = samples(grow, noise=4096.0)
    found = long_run.slope(rows)
    assert found is not None
    assert abs(found.bytes_per_million_hops - grow) <= 2 * found.half_width
    assert long_run.is_flat(found, rows) == flat


def test_the_warm_up_does_not_count() -> None:
    found = long_run.slope(samples(0.0))
    assert found == long_run.Slope(0.0, 0.0, 0, 0)


def test_few_samples_have_no_slope() -> None:
    assert long_run.slope(samples(0.0, count=20)) is None


def test_failures_are_within_the_run_and_apart() -> None:
    plan = long_run.failures(["a-b", "b-c", "c-d"], 0.0, 1e6)
    times = [(float(one["at"].split()[0]), float(one["until"].split()[0])) for one in plan]
    assert len(plan) == long_run.FAILURES
    assert all(at < until for at, until in times)
    assert all(until < at for (_, until), (at, _) in itertools.pairwise(times))
    assert times[-1][1] < 1e6
    assert {one["link"] for one in plan} == {"a-b", "b-c", "c-d"}


@pytest.mark.usefixtures("real")
def test_a_million_packet_hops_keep_all_invariants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(long_run, "PROBE_S", 20e-6)
    out = tmp_path / "long.json"
    monkeypatch.setattr(sys, "argv", ["long_run.py", "--hops", "1e6", "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        long_run.main()
    assert ended.value.code == 0
    assert "all invariants hold" in capsys.readouterr().out
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["packet_hops"] > 0.9e6
    found = result["invariants"]
    assert (found["packets_ok"], found["credits_ok"], found["in_flight"]) == (True, True, 0)
    assert found["injected"] == found["delivered"] + found["dropped"]
    assert found["lost.vcrc"] > 0
    assert found["lost.link_failed"] > 0
    assert result["samples"]
    assert all(resident > MB for _, resident in result["samples"])


def test_what_does_not_hold_is_said() -> None:
    result = {
        "status": "ok",
        "defect": "",
        "invariants": {"packets_ok": True, "credits_ok": True},
        "flat": True,
    }
    assert long_run.problems(result) == []
    broken = {**result, "invariants": {"packets_ok": False, "credits_ok": True}, "defect": "credits of S0"}
    assert long_run.problems(broken) == ["status ok: credits of S0", "invariant packets_ok does not hold"]
    grown = {
        **result,
        "flat": False,
        "packet_hops": 10**9,
        "samples": [(0, MB), (10**9, 100 * MB)],
        "slope": vars(long_run.Slope(5000.0, 10.0, 1, 1)),
    }
    (said,) = long_run.problems(grown)
    assert said.startswith("memory grows: 100.0 MB at the end, 5000 ± 10 bytes per 10^6 packet-hops: 4.77 %")
    assert math.isclose(5000 * 1000 / (100 * MB), 0.0477, rel_tol=1e-3)
