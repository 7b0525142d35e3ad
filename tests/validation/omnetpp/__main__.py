"""`python -m tests.validation.omnetpp`: prints the comparison; with `--write` writes its page."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import page, peer_inputs
from .cases import SHARES, SLOT

ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    """1 if something is out of tolerance."""
    parser = argparse.ArgumentParser(prog="python -m tests.validation.omnetpp", description=__doc__)
    parser.add_argument("--write", action="store_true", help="run all, write docs/validation/omnetpp.md")
    parser.add_argument(
        "--peer-inputs", type=Path, metavar="DIR", help="write the peer's inputs, a folder each"
    )
    parser.add_argument("--collect", type=Path, metavar="DIR", help="take the peer's logs from these folders")
    arguments = parser.parse_args()
    if arguments.peer_inputs:
        print("\n".join(str(folder) for folder in peer_inputs.write(arguments.peer_inputs)))
        return 0
    if arguments.collect:
        peer_inputs.collect(arguments.collect)
        return 0
    if arguments.write:
        path = page.write(ROOT / "docs/validation")
        print(f"written: {path}")
        return int("**no" in path.read_text(encoding="utf-8"))
    tables = [page.table(rows, binding=True) for rows in (SLOT, SHARES)] + [page.exact(), page.drawn()]
    print("\n\n".join(tables))
    return int(any("**no" in text for text in tables))


if __name__ == "__main__":
    raise SystemExit(main())
