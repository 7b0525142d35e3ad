"""The page of this validation: the text of `page.md`, with its tables filled in."""

from __future__ import annotations

from pathlib import Path

from .cases import (
    HELD_TOTALS,
    HOLD_IN_TURN_TOTALS,
    HOLD_TOTALS,
    SHARES,
    SLOT,
    TOLERANCE,
    TOTALS,
    Quantity,
)

TEXT = Path(__file__).resolve().parent / "page.md"


def write(folder: Path) -> Path:
    """Runs everything and writes `omnetpp.md` into a folder."""
    text = TEXT.read_text(encoding="utf-8")
    for mark, rows, binding in (("slot", SLOT, True), ("shares", SHARES, True), ("totals", TOTALS, False)):
        text = text.replace(f"<!-- {mark} -->", table(rows, binding=binding))
    text = text.replace("<!-- held -->", bounds())
    path = folder / "omnetpp.md"
    path.write_text(text, encoding="utf-8")
    return path


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
