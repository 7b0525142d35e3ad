"""Published numbers and claims hold, and the pages tell of all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabricsim.reproduce import Figure, Outcome, Seed
from fabricsim.reproduce.record import differences, digest, read_record

PAGES = Path(__file__).resolve().parents[2] / "docs/reproduction"
SEEDS = ["age-based-arbitration", "infiniband-verbs-mpi", "thesis", "wire-speed-ordering"]
TIES = "probe, mesh, age, period 1: largest share over smallest"
SETTINGS = [
    "round robin",
    *(f"{period}; {bias}" for period in (4, 8, 16) for bias in ("1, 1, 1", "3, 2, 1")),
]
"""The rows of table 5 on age-based arbitration."""
DIRECTIONS = ("+y", "+x", "+z", "-z", "-x", "-y")
MISSING: dict[str, list[str]] = {}
"""Sections that are not computed yet with the present rows."""
DIFFERS = {
    "age-based-arbitration": [
        "load 0.9: equation 2",
        TIES,
        *(f"{row}: latency over round robin's" for row in SETTINGS[1:-1]),
        "8; 3, 2, 1: standard deviation of latency over round robin's",
        "8; 3, 2, 1 is the best: its latency over the best of the others",
        "16; 3, 2, 1 less 8; 3, 2, 1: latency",
        *(f"period {period}: bias 3, 2, 1 over 1, 1, 1" for period in (4, 8, 16)),
        "round robin is worse than all but 16; 1, 1, 1: over the worst of these",
        *(f"{row}: stalled cycles, {direction}" for row in SETTINGS for direction in DIRECTIONS),
        "8; 3, 2, 1: utilisation of z by equation 17",
        *(f"{row}: Q({dimension})" for row in SETTINGS for dimension in "xyz"),
        "Q(x), 8; 3, 2, 1 over round robin",
        "Q(z) changes least: its change",
        *(f"{row}: latency by the formula, from Q" for row in SETTINGS),
        *(f"{row}: latency by the formula, from blocked cycles" for row in SETTINGS),
        "jobs: 8; 3, 2, 1 over round robin",
        "jobs: 16; 3, 2, 1 over round robin",
        "jobs: period 8: bias 3, 2, 1 over 1, 1, 1",
        "period 4: decades between the largest and the smallest group",
        "default, 4096; 1, 1, 1: latency over round robin's",
    ],
    "infiniband-verbs-mpi": [
        "step 4: A, as printed",
        "step 4: P, as printed",
        "packets marked at port x",
        "sizes up to 4096 B at which WRITE has more throughput than READ",
        "sizes up to 4096 B at which WRITE has more throughput than SEND",
        "WRITE, 128 at a time over one at a time, 4 KiB",
        "Isend (calibrated), Maximum",
        "Isend's completion (calibrated), Minimum",
        "Isend's completion (calibrated), Skewness",
        "Send (predicted), Minimum",
        "Isend (calibrated), Maximum",
        "Isend's completion (predicted), 99 %",
        "Isend's completion (predicted), 99.9 %",
        "Isend's completion (predicted), 99.99 %",
        "Isend's completion (ticks and pauses calibrated), Skewness",
        "Send (predicted), 99 %",
        "Send (predicted), 99.99 %",
        "Send (ticks and pauses calibrated), Skewness",
        "Ssend (predicted), 99 %",
        "Ssend (predicted), 99.9 %",
        "Ssend (predicted), 99.99 %",
        "Ssend (ticks and pauses calibrated), Skewness",
        "eager Send, 99.9 % over 90 %",
    ],
    "thesis": [
        "largest of the contributors, from 0.05 s",
        "last 20 ms over 0.04 to 0.06 s, congestion control off",
        "last 20 ms over 0.04 to 0.06 s, congestion control on",
        "H512 over the mean of H511, H541 and H551",
        "ExperimentC3",
        "oscillation of C3 over that of C4, congestion control on",
        "oscillation of C3 over that of C4 from 0.05 s on, congestion control on",
        "C3 less the smallest of the other gains",
        "Marking_Rate 40",
        "Marking_Rate 1 over the smallest of the others",
        "best CCTI_Timer at Marking_Rate 10",
        "from CCTI_Timer 500 to 750: averages that fall (Marking_Rate 1) and rise (all others), of 6",
        "gain at CCTI_Timer 1000",
        "gain at CCTI_Timer 750",
        "gain at CCTI_Timer 500",
        "gain at CCTI_Timer 250",
        "average at CCTI_Timer 20 less the smallest of the others",
        "rank correlation of the five timers",
    ],
    "wire-speed-ordering": [
        "out of order with target-side ordering, mean of all lengths",
        "8 flits: out of order with target-side ordering",
        "16 flits: out of order with target-side ordering",
        "24 flits: out of order with target-side ordering",
        "30 packets: out of order with target-side ordering",
        "40 packets: out of order with target-side ordering",
        "128 packets: out of order",
        "10 packets: source-side less target-side synchronization",
        "mean packets in the buffer, largest over smallest of the four",
        "most packets in the buffer, mean of five runs, largest over smallest of the four",
        "16 sources: packets put into the reorder buffer, mean of both lengths",
        "4 sources, 128 packets: packets put into the reorder buffer",
        "16 sources, 32 packets: packets put into the reorder buffer",
        "16 sources, 32 packets: mean connections of a receiver",
        "16 sources, 128 packets: packets put into the reorder buffer",
        "16 sources, 128 packets: mean connections of a receiver",
        "32 packets: most packets in the buffer",
        "128 packets: most packets in the buffer",
        "32 packets: in the buffer, exceeded in 1 % of the time",
        "4 sources, 128 packets: dropped, mean of five runs",
        "4 sources, 128 packets: requests sent in slow mode",
        "4 sources, 128 packets, seed 1: dropped",
        "4 sources, 128 packets, seed 2: dropped",
        "4 sources, 128 packets, seed 3: dropped",
        "4 sources, 128 packets, seed 4: dropped",
        "4 sources, 128 packets, seed 5: dropped",
    ],
}
"""What does not come out as published; the page says why."""


def test_everything_ran(outcome: Outcome) -> None:
    assert outcome.complete
    assert outcome.problems == []
    assert {seed.name for seed, _, _ in outcome.figures} >= set(SEEDS)
    names = {figure.name for _, figure, _ in outcome.figures}
    assert names >= {f"figure-4.{number}" for number in range(1, 7)}


def test_quick_figures_come_out_as_on_the_pages(outcome: Outcome) -> None:
    """Value by value."""
    moved = []
    for seed, figure, _ in outcome.figures:
        own = [entry for entry in outcome.entries if (entry.seed, entry.figure) == (seed.name, figure.name)]
        moved += differences(PAGES, seed, figure, own)
    assert moved == []


def test_pages_are_of_the_files_as_they_are(seeds: list[Seed]) -> None:
    """Rows, settings, experiments and functions are those that figures were computed with, also slow ones."""
    for seed in seeds:
        record = read_record(PAGES, seed.name)
        computed = [figure for figure in seed.figures if figure.name not in MISSING.get(seed.name, [])]
        assert list(record) == [figure.name for figure in computed]
        assert [f.name for f in computed if record[f.name]["digest"] != digest(seed, f)] == []


def test_pages_name_the_sections_that_are_missing(seeds: list[Seed]) -> None:
    for seed in seeds:
        page = (PAGES / f"{seed.name}.md").read_text(encoding="utf-8")
        missing = MISSING.get(seed.name, [])
        assert ("Not on this page yet" in page) == bool(missing)
        assert not missing or f"**Not on this page yet: {', '.join(missing)}.**" in page


def test_no_row_of_a_page_holds_under_its_control(seeds: list[Seed]) -> None:
    for seed in seeds:
        for name, figure in read_record(PAGES, seed.name).items():
            rows = figure["entries"]
            judged = [row for row in rows if row["verdict"] in ("yes", "sign", "calibrated")]
            assert [(name, row["quantity"]) for row in judged if not row["control"]] == []
            assert [(name, row["quantity"]) for row in judged if row["control_holds"] is not False] == []


@pytest.mark.parametrize(
    ("figure", "quantity", "published"),
    [
        ("figure-4.1", "0.6 to 0.7 s: H211 to H221", 0.5),
        ("figure-4.1", "0.6 to 0.7 s: H112 to H221", 0.25),
        ("figure-4.1", "0.6 to 0.7 s: H121 to H221", 0.25),
        ("figure-4.1", "0.6 to 0.7 s: H111 to H121", 0.25),
        ("figure-4.3", "0.6 to 0.7 s: H551 to H552", 1 / 3),
        *(
            (figure, f"0.6 to 0.7 s: {host} to H552", 1 / 6)
            for figure in ("figure-4.3", "figure-4.5")
            for host in ("H111", "H151", "H511", "H541")
        ),
        ("figure-4.3", "0.5 to 0.7 s: H431 to H542", 1.0),
        ("figure-4.5", "0.6 to 0.7 s: H512 to H542", 1 / 6),
    ],
)
def test_shares_at_the_end(outcome: Outcome, figure: str, quantity: str, published: float) -> None:
    """Within 2 % of a host's link; the flow-control packets take 0.4 % of it."""
    (entry,) = [e for e in outcome.entries if (e.figure, e.quantity) == (figure, quantity)]
    assert entry.ours == pytest.approx(published, abs=0.02)
    assert entry.ours == pytest.approx(published * 2176 / 2184, abs=0.002)


def test_the_page_has_a_row_for_each_number(seeds: list[Seed]) -> None:
    for seed in seeds:
        page = (PAGES / f"{seed.name}.md").read_text(encoding="utf-8")
        missing = MISSING.get(seed.name, [])
        rows = [row for figure in seed.figures if figure.name not in missing for row in rows_of(figure)]
        assert [row for row in rows if row not in page] == []
        no = [line.split("|")[1].strip() for line in page.splitlines() if "| **no** |" in line]
        assert no == DIFFERS.get(seed.name, [])


def rows_of(figure: Figure) -> list[str]:
    """How the rows begin that a figure has on its page."""
    rows = [f"| {quantity.quantity} | {quantity.unit} | " for quantity in figure.quantities]
    for cells in figure.cells:
        if cells.listed:
            rows += [
                f"| {cells.quantity.format(**labels)} | {cells.unit} | " for labels in figure.places.values()
            ]
    return rows


@pytest.mark.parametrize("seed", SEEDS)
def test_the_page_has_its_pictures(seed: str) -> None:
    page = (PAGES / f"{seed}.md").read_text(encoding="utf-8")
    pictures = re.findall(r"\]\((figures/[^)]+)\)", page)
    assert pictures
    assert [picture for picture in pictures if not (PAGES / picture).is_file()] == []
    # Text as text: a label that is neither set nor formatted comes out as TeX.
    assert [
        picture for picture in pictures if "\\math" in (PAGES / picture).read_text(encoding="utf-8")
    ] == []
