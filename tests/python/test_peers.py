"""`scripts/bench_peers`: what other simulators print, the table, the plot, and simulators that are absent."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import peers_caminos
import peers_fabricsim
import peers_page
import peers_simgrid
import pytest
from peers_measure import Figures, Missing, Program, in_turn, run, total
from peers_plot import draw, points
from peers_table import digits, quoted, ratio, table

ROOT = Path(__file__).resolve().parents[2]
RESULT = """Result
{
	cycle:
	51000,
	injected_load:
	0.25,
	accepted_load:
	0.25,
	average_message_delay:
	31.5,
	average_packet_hops:
	3.0,
	linux_high_water_mark:
	10240,
}
"""
OURS = {
    "program": "Fabricsim",
    "version": "test",
    "wall_s": 1.5,
    "cpu_s": 1.0,
    "cpu_us_per_unit": 0.125,
    "instructions_per_unit": 800.0,
    "peak_mb": 16.0,
    "accepted_load": 0.4,
    "latency_ns": 150.0,
    "notes": "",
}
THEIRS = {
    **OURS,
    "program": "CAMINOS",
    "cpu_us_per_unit": 12.5,
    "instructions_per_unit": 92_000.0,
    "peak_mb": 8.0,
    "latency_ns": 105.0,
}
ABSENT = {"name": "SimGrid", "install": "`apt install it`"}


def result(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    case = {"case": "mesh-8x8", "title": "8x8 mesh", "load": 0.4, "unit": "packet-hop", "rows": list(rows)}
    return {"date": "2026-01-02", "pairs": 3, "processor": "one", "cases": [{**case, **changes}]}


def test_a_result_of_caminos_is_read() -> None:
    found = peers_caminos.read(RESULT, 1000)
    assert found.work == 0.25 * 1000 * 64 / 16 * 4  # the link to the host is the fourth
    assert (found.accepted_load, found.latency_ns, found.peak_mb) == (0.25, 31.5, 10.0)
    with pytest.raises(ValueError, match="has no average_message_delay"):
        peers_caminos.read("accepted_load:\n0.1,\naverage_packet_hops:\n1,", 1000)


@pytest.mark.parametrize(("topology", "bubble"), [("mesh", "false"), ("torus", "true")])
def test_the_configuration_of_caminos_has_no_value_left_open(topology: str, bubble: str) -> None:
    text = peers_caminos.configuration(ROOT, topology, 0.1, 500)
    assert "@" not in text
    assert f"topology: {topology.capitalize()} {{" in text
    assert f"bubble: {bubble}" in text


def test_the_time_of_an_all_to_all_is_read() -> None:
    found = peers_simgrid.read("a warning\nlongest_s 0.002\n", 4)
    assert (found.work, found.latency_ns) == (4, 500_000.0)
    assert found.accepted_load == pytest.approx(63 * 65536 / 500_000 / 12.5)
    with pytest.raises(ValueError, match="no time"):
        peers_simgrid.read("", 1)


def test_absent_simulators_say_how_to_install_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = [
        peers_caminos.caminos(tmp_path, tmp_path, "mesh", 0.1, (1, 1, 1)),
        peers_simgrid.simgrid(ROOT, tmp_path, (1, 1, 1)),
    ]
    assert all(isinstance(one, Missing) for one in missing)
    shown = table(result(OURS, *(vars(one) for one in missing)), [])
    assert "| CAMINOS | not here: `cargo install --locked --root target/peers caminos@" in shown[2]
    assert "| SimGrid | not here: `scripts/apt libsimgrid-dev`" in shown[3]
    columns = shown[0].split("\n")[0].count("|")
    assert [line.count("|") for line in shown[1:]] == [columns] * 3


def test_the_table_has_ratios_to_ours() -> None:
    lines = table(result(OURS, THEIRS), [])
    assert lines[1].endswith("| 1.5 | 1 | 0.125 | 800 | 16 | 0.4 | 150 |")
    assert "12.5 (100×)" in lines[2]
    assert "92\u202f000 (115×)" in lines[2]
    assert lines[2].endswith("| 8 (0.5×) | 0.4 (1×) | 105 (0.7×) |")


def test_ratios_are_to_the_first_row_of_ours_that_has_the_figure() -> None:
    slow = {**OURS, "program": "Fabricsim, MPI", "cpu_us_per_unit": 25.0, "instructions_per_unit": None}
    lines = table(result(slow, {**OURS, "program": "Fabricsim, job"}, THEIRS), [])
    assert "| 25 | – |" in lines[1]
    assert "| 0.125 (0.005×) | 800 |" in lines[2]
    assert "| 12.5 (0.5×) | 92\u202f000 (115×) |" in lines[3]


def test_quoted_figures_have_date_and_ratio() -> None:
    others = quoted(ROOT)
    (line,) = [line for line in table(result(OURS), others) if "BookSim" in line]
    assert "BookSim 2 (2026-" in line
    assert "122\u202f000 (152×)" in line  # benches/peers.toml
    assert "170.1 (1.13×)" in line  # the validation
    assert not any("CAMINOS" in row["program"] for row in others)


def test_numbers() -> None:
    assert (digits(12345.6), digits(0.10007), digits(16.0)) == ("12\u202f346", "0.1001", "16")
    assert (ratio(1234.0), ratio(0.5), ratio(99.96)) == ("1\u202f234×", "0.5×", "100×")


def test_the_plot_has_a_marker_for_each_simulator() -> None:
    shown = result(OURS, THEIRS, ABSENT)
    row = "8x8 mesh, load 0.4"
    found = points(shown, quoted(ROOT), "instructions_per_unit")
    assert found["Fabricsim"] == [(row, 1.0)]
    assert found["CAMINOS"] == [(row, 115.0)]
    figure = draw(shown, quoted(ROOT))
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "processor time (multiple of Fabricsim's)",
        "instructions (multiple of Fabricsim's)",
    ]
    assert all(axes.get_xscale() == "log" and axes.get_legend() is None for axes in figure.axes)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][:2] == ["Fabricsim", "CAMINOS"]


def test_the_page_has_all_parts(tmp_path: Path) -> None:
    for folder in ("benches", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "docs").mkdir()
    long = {
        "experiment": "some.toml",
        "date": "2026-01-03",
        "build": "slow",
        "packet_hops": 1_000_000_007,
        "wall_s": 200.0,
        "cpu_s": 190.0,
        "invariants": {
            "injected": 10,
            "delivered": 8,
            "dropped": 2,
            "in_flight": 0,
            "packets_ok": True,
            "credits_ok": False,
        },
        "slope": None,
        "samples": [[1, 2]],
    }
    peers_page.write(tmp_path, result(OURS, THEIRS), [long])
    text = (tmp_path / peers_page.PAGE).read_text(encoding="utf-8")
    assert "Measured on 2026-01-02" in text
    assert "| `some.toml` (2026-01-03, slow) | 1\u202f000\u202f000\u202f007 |" in text
    assert "| yes | **no** |" in text
    assert "- Fabricsim: test." in text
    assert not [line for line in text.split("\n") if line.startswith("@")]
    assert (tmp_path / "docs/figures/performance-peers.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_the_output_of_our_program_is_read() -> None:
    program = peers_fabricsim.uniform(ROOT, Path("bench_case"), "test", "mesh-8x8", 0.1, (1000.0, 10.0, 20.0))
    assert program.command(10.0)[2:4] == ["traffic.0.load=0.1", "run.duration=10 ns"]
    output = {"packet_hops": 70, "accepted_load": 0.1, "latency_ns": 41.0, "peak_bytes": 2**21}
    assert program.figures(json.dumps(output), 10.0) == Figures(70, 0.1, 41.0, 2.0)


def test_programs_run_in_turn_and_medians_count(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def program(name: str) -> Program:
        script = f"open({str(log)!r}, 'a').write({name!r}); print(1)"
        return Program(
            name,
            "test",
            lambda length: [sys.executable, "-S", "-c", script],
            lambda output, length: Figures(length * float(output), 0.5, 10.0),
            (4.0, 1.0, 2.0),
            counted=False,
        )

    rows = in_turn([program("a"), program("b")], 3)
    assert log.read_text(encoding="utf-8") == "ababab"
    assert [(row.program, row.work, row.runs, row.instructions_per_unit) for row in rows] == [
        ("a", 4, 3, None),
        ("b", 4, 3, None),
    ]
    assert all(row.cpu_s > 0 and row.peak_mb > 1 for row in rows)


def test_a_program_that_fails_ends_the_measurement() -> None:
    with pytest.raises(SystemExit, match="failed"):
        run([sys.executable, "-S", "-c", "raise SystemExit(3)"])


def test_the_total_of_cachegrind_is_read() -> None:
    assert total("events: Ir\nfn=main\n1 20\nsummary: 1234\n") == 1234
    assert total("") == 0
