"""The page of this validation: the text of `page.md`, with its tables filled in."""

from __future__ import annotations

from pathlib import Path

from .cases import HELD_TOTALS, SHARES, SLOT, TOLERANCE, TOTALS, Quantity

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
    """The thesis between the runs in which every output, and none, is held."""
    lines = ["| | all held | thesis | none held |", "|:--|--:|--:|--:|"]
    for held, free in zip(HELD_TOTALS, TOTALS, strict=True):
        lines.append(f"| {held.name} | {held.with_option:.2f} | {held.peer:g} | {free.with_option:.2f} |")
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
