"""The page of this validation: the text of `page.md`, with the tables and pictures of its marks filled in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from . import compare, figures, line
from .cases import CASES, DEFAULT_SWITCH, FULL, SHORT, THROUGHPUT_TOLERANCE, WORMHOLE, Case, Effort
from .compare import Comparison
from .options import OPTIONS, Option
from .peer import table

TEXT = Path(__file__).resolve().parent / "page.md"


def write(folder: Path, effort: Effort = FULL) -> Path:
    """Runs everything and writes `booksim.md` and its pictures into a folder."""
    parts: dict[str, Callable[[], str]] = {
        **{case.name: partial(_case, case, folder, effort) for case in CASES},
        "wormhole": partial(_wormhole, effort),
        "line-shares": _shares,
        "line-latency": _waits,
        "allocators": partial(_allocators, effort),
        **{option.mark: partial(_option, option, effort) for option in OPTIONS},
        **{f"{option.mark}-parts": partial(_parts, option) for option in OPTIONS if option.keys},
    }
    text = TEXT.read_text(encoding="utf-8")
    for mark, part in parts.items():
        text = text.replace(f"<!-- {mark} -->", part())
    path = folder / "booksim.md"
    path.write_text(text, encoding="utf-8")
    return path


def _case(case: Case, folder: Path, effort: Effort) -> str:
    rows = compare.latencies(case, effort, beyond=True)
    default = [compare.default_latency(case, row, effort) for row in rows]
    saturation = compare.saturation(case, effort)
    picture = f"figures/booksim-{case.name}.svg"
    figures.draw(folder / picture, case.title, rows, default, saturation, case.limit())
    within = "within" if saturation.holds else "**not within**"
    lines = [
        f"![mean latency over load]({picture})",
        "",
        "| load | BookSim | | ours | | ratio | allowed | within | default allocation |",
        "|--:|--:|:--|--:|:--|--:|--:|:--|--:|",
    ]
    for row, other in zip(rows, default, strict=True):
        verdict = ("yes" if row.holds else "**no**") if row.binding else "(beyond)"
        allowed = row.allowed / row.peer.latency
        lines.append(f"{_latencies(row)} {row.ratio:.4f} | ± {allowed:.1%} | {verdict} | {other:.2f} |")
    lines += [
        "",
        f"Accepted load at offered load 1.0: BookSim {saturation.peer:.4f}, ours {saturation.ours:.4f}, ratio "
        f"{saturation.ratio:.3f}, {within} {THROUGHPUT_TOLERANCE:.0%}; with the default allocation "
        f"{compare.default_saturation(case, effort):.4f}.",
    ]
    return "\n".join(lines)


def _latencies(row: Comparison) -> str:
    ours, peer = row.ours, row.peer
    return (
        f"| {peer.injected:.4f} | {peer.latency:.2f} | ± {row.peer_half_width:.2f} "
        f"| {ours.latency:.2f} | ± {ours.half_width:.2f} |"
    )


def _wormhole(effort: Effort) -> str:
    rows = compare.latencies(WORMHOLE, effort, beyond=True)
    saturation = compare.saturation(WORMHOLE, effort)
    lines = [
        "| load | BookSim | | ours | | ratio |",
        "|--:|--:|:--|--:|:--|--:|",
        *[f"{_latencies(row)} {row.ratio:.3f} |" for row in rows],
        "",
        f"Accepted load at offered load 1.0: BookSim {saturation.peer:.4f}, ours {saturation.ours:.4f}, ratio "
        f"{saturation.ratio:.3f}.",
    ]
    return "\n".join(lines)


def _option(option: Option, effort: Effort) -> str:
    return "\n\n".join(_with_and_without(case, effort) for case in option.cases)


def _with_and_without(case: Case, effort: Effort) -> str:
    rows = compare.latencies(case, effort, beyond=True)
    lines = [
        f"{case.title[0].upper()}{case.title[1:]}:",
        "",
        "| load | BookSim | | ours | | ratio | allowed | within | without | ratio |",
        "|--:|--:|:--|--:|:--|--:|--:|:--|--:|--:|",
    ]
    for row in rows:
        other = compare.default_latency(case, row, effort)
        verdict = ("yes" if row.holds else "**no**") if row.binding else "(beyond)"
        lines.append(
            f"{_latencies(row)} {row.ratio:.4f} | ± {row.allowed / row.peer.latency:.1%} | {verdict} "
            f"| {other:.2f} | {other / row.peer.latency:.4f} |"
        )
    saturation = compare.saturation(case, effort)
    within = (
        ("within" if saturation.holds else "**not within**") if case.saturates_alike else "allowed would be"
    )
    other = compare.default_saturation(case, effort)
    lines += [
        "",
        f"Accepted load at offered load 1.0: BookSim {saturation.peer:.4f}, ours {saturation.ours:.4f}, ratio "
        f"{saturation.ratio:.3f}, {within} {THROUGHPUT_TOLERANCE:.0%}; without {other:.4f}, ratio "
        f"{other / saturation.peer:.3f}.",
    ]
    return "\n".join(lines)


def _parts(option: Option) -> str:
    """In runs as short as those of the tests."""
    return "\n\n".join(_parts_of(case, option.keys, SHORT) for case in option.cases if case.saturates_alike)


def _parts_of(case: Case, keys: tuple[str, ...], effort: Effort) -> str:
    rows = compare.latencies(case, effort, beyond=True)
    loads = " | ".join(f"at {row.peer.load:g}" for row in rows)
    lines = [
        f"{case.title[0].upper()}{case.title[1:]}, ratios to the peer:",
        "",
        f"| | {loads} | accepted at 1.0 |",
        f"|:--|{'--:|' * (len(rows) + 1)}",
        f"| all | {_numbers([row.ratio for row in rows], 3)} | {compare.saturation(case, effort).ratio:.3f} |",
    ]
    for key in keys:
        found = compare.part(case, key, rows, effort)
        name = key.removeprefix("routing.")
        lines.append(f"| without `{name}` | {_numbers(found.latencies, 3)} | {found.saturation:.3f} |")
    return "\n".join(lines)


def _shares() -> str:
    lines = [
        "| arbitration | | P0 | P1 | P2 | P3 | P4 | P5 | P6 | largest difference |",
        "|:--|:--|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in line.shares():
        lines.append(f"| `{row.arbitration}` | BookSim | {_numbers(row.peer, 4)} | |")
        ours = line.OURS[row.arbitration]
        lines.append(f"| `{ours}` | ours | {_numbers(row.ours, 4)} | {row.worst:.1%} |")
    return "\n".join(lines)


def _waits() -> str:
    lines = [
        "| arbitration | load | | all | P0 | P1 | P2 | P3 | P4 | P5 | P6 | within |",
        "|:--|--:|:--|--:|--:|--:|--:|--:|--:|--:|--:|:--|",
    ]
    for row in line.waits():
        lines.append(f"| `{row.arbitration}` | {row.load:.2f} | BookSim | {_numbers(row.peer, 2)} | |")
        ours, verdict = line.OURS[row.arbitration], "yes" if row.holds else "**no**"
        spread = f"ours, ± {row.half_width:.2f}"
        lines.append(f"| `{ours}` | | {spread} | {_numbers(row.ours, 2)} | {verdict} |")
    return "\n".join(lines)


def _allocators(effort: Effort) -> str:
    networks = ["mesh", "torus", "tree"]
    lines = [
        "| lanes | crossbar | mesh | torus | tree | mesh accepts | torus accepts | tree accepts |",
        "|:--|:--|--:|--:|--:|--:|--:|--:|",
    ]
    for row in table("allocators"):
        latencies = _numbers([float(row[f"{network}_latency"]) for network in networks], 2)
        accepted = _numbers([float(row[f"{network}_accepted"]) for network in networks], 3)
        lines.append(f"| `{row['vc_allocator']}` | `{row['sw_allocator']}` | {latencies} | {accepted} |")
    cases = [next(case for case in CASES if case.name == f"{network}-1f") for network in networks]
    settings = [effort.for_latency(load, 1) | DEFAULT_SWITCH for load in (0.3, 0.5, 0.5)]
    latencies = _numbers([compare.run(case, to).latency for case, to in zip(cases, settings, strict=True)], 2)
    accepted = _numbers([compare.default_saturation(case, effort) for case in cases], 3)
    lines.append(f"| ours, `maximal` | | {latencies} | {accepted} |")
    return "\n".join(lines)


def _numbers(values: list[float], places: int) -> str:
    return " | ".join(f"{value:.{places}f}" for value in values)
