"""The page of this validation: the text of `page.md`, with its tables filled in."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from .cases import (
    HELD_TOTALS,
    HOLD,
    HOLD_IN_TURN_TOTALS,
    HOLD_TOTALS,
    PRECISION,
    SHARES,
    SLOT,
    STRICT,
    TOLERANCE,
    TOTALS,
    OverSeeds,
    Quantity,
    over_seeds,
)
from .peer import CASES, GIVES_UP, IN_TURN, chance, flows

TEXT = Path(__file__).resolve().parent / "page.md"


def write(folder: Path) -> Path:
    """Runs everything and writes `omnetpp.md` into a folder."""
    text = TEXT.read_text(encoding="utf-8")
    for mark, rows, binding in (("slot", SLOT, True), ("shares", SHARES, True), ("totals", TOTALS, False)):
        text = text.replace(f"<!-- {mark} -->", table(rows, binding=binding))
    text = text.replace("<!-- cases -->", "\n".join(f"- *{case.name}*: {case.text}" for case in CASES))
    text = text.replace("<!-- exact -->", exact())
    text = text.replace("<!-- drawn -->", drawn())
    text = text.replace("<!-- seeds -->", seeds())
    text = text.replace("<!-- held -->", bounds())
    path = folder / "omnetpp.md"
    path.write_text(text, encoding="utf-8")
    return path


def exact() -> str:
    """Cases in which nothing is drawn: the peer beside both arbiters."""
    lines = [
        "| | | peer | gives up | ratio | within | in turn | ratio |",
        "|:--|:--|--:|--:|--:|:--|--:|--:|",
    ]
    for case in (case for case in CASES if not case.drawn):
        for number, flow in enumerate(flows(case)):
            peer, ours, other = flow.peer[0], flow.ours(GIVES_UP)[0], flow.ours(IN_TURN)[0]
            lines.append(
                f"| {case.name if number == 0 else ''} | {flow.name} | {peer:.1f} | {ours:.1f} | {ours / peer:.3f} "
                f"| {_verdict(flow.within(GIVES_UP))} | {other:.1f} | {other / peer:.3f} |"
            )
    return "\n".join(lines)


def drawn() -> str:
    """Cases in which destinations are drawn: means over seeds, with the 95 % interval of their difference."""
    lines = [
        "| | | peer | gives up | ratio | chance | within | in turn | ratio |",
        "|:--|:--|--:|--:|--:|:--|:--|--:|--:|",
    ]
    for case in (case for case in CASES if case.drawn):
        for number, flow in enumerate(flows(case)):
            peer, ours, other = fmean(flow.peer), fmean(flow.ours(GIVES_UP)), fmean(flow.ours(IN_TURN))
            by_chance = chance(flow.ours(GIVES_UP), flow.peer)
            lines.append(
                f"| {case.name if number == 0 else ''} | {flow.name} | {peer:.1f} | {ours:.1f} | {ours / peer:.3f} "
                f"| ± {by_chance / peer:.3f} | {_verdict(flow.within(GIVES_UP))} | {other:.1f} | {other / peer:.3f} |"
            )
    return "\n".join(lines)


def _verdict(holds: bool) -> str:
    return "yes" if holds else "**no**"


def bounds() -> str:
    """The thesis beside runs in which all outputs are held, those that the model holds, and none."""
    lines = [
        "| | thesis | all held | held | ratio | held, in turn | ratio "
        "| none held | ratio | none held, in turn | ratio |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for held, strict, in_turn, free in zip(
        HELD_TOTALS, HOLD_TOTALS, HOLD_IN_TURN_TOTALS, TOTALS, strict=True
    ):
        found = (strict.with_option, in_turn.with_option, free.with_option, in_turn.without)
        cells = " | ".join(f"{ours:.2f} | {ours / held.peer:.3f}" for ours in found)
        lines.append(f"| {held.name} | {held.peer:g} | {held.with_option:.2f} | {cells} |")
    return "\n".join(lines)


def seeds() -> str:
    """The totals over seeds, with both arbiters, where slow packets hold their outputs and where none does."""
    lines = [
        "| | thesis | gives up, held | of one run | ratio | within | in turn, held | difference "
        "| gives up | in turn | difference |",
        "|:--|--:|--:|:--|--:|:--|--:|:--|--:|--:|:--|",
    ]
    for total in TOTALS:
        held, held_in_turn, strict, in_turn = (
            over_seeds(total, option) for option in ({**STRICT, **HOLD}, HOLD, STRICT, {})
        )
        holds = abs(held.mean - total.peer) <= held.of_one_run + PRECISION[total.name]
        lines.append(
            f"| {total.name} | {total.peer:g} | {held.mean:.2f} | ± {held.of_one_run:.2f} "
            f"| {held.mean / total.peer:.3f} | {'yes' if holds else '**no**'} "
            f"| {held_in_turn.mean:.2f} | {_difference(held.minus(held_in_turn))} "
            f"| {strict.mean:.2f} | {in_turn.mean:.2f} | {_difference(strict.minus(in_turn))} |"
        )
    return "\n".join(lines)


def _difference(found: OverSeeds) -> str:
    return f"{found.mean:+.2f} ± {found.of_mean:.2f}"


def table(rows: list[Quantity], *, binding: bool) -> str:
    """Peer, ours with the option, ours without it."""
    verdict = " within |" if binding else ""
    lines = [
        f"| | peer | ours, with | ratio |{verdict} without | ratio |",
        f"|:--|--:|--:|--:|{':--|' if binding else ''}--:|--:|",
    ]
    for row in rows:
        ours, other = row.with_option, row.without
        ratio = ours / row.peer
        holds = f" {'yes' if abs(ratio - 1.0) <= TOLERANCE else '**no**'} |" if binding else ""
        lines.append(
            f"| {row.name} | {row.peer:g} | {ours:.2f} | {ratio:.3f} |{holds} {other:.2f} | {other / row.peer:.3f} |"
        )
    return "\n".join(lines)
