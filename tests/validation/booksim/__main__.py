"""`python -m tests.validation.booksim`: compares, and with `--write` writes the page of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import compare, page
from .cases import CASES, FULL, SHORT
from .options import OPTIONS

ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    """Prints the comparison; 1 if something is out of tolerance."""
    parser = argparse.ArgumentParser(prog="python -m tests.validation.booksim", description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="run in full length, write docs/validation/booksim.md"
    )
    if parser.parse_args().write:
        path = page.write(ROOT / "docs/validation", FULL)
        print(f"written: {path}")
        return int("**no" in path.read_text(encoding="utf-8"))
    good = True
    options = [case for option in OPTIONS for case in option.cases if case.binding]
    for case in CASES + options:
        print(case.title)
        for row in compare.latencies(case, SHORT):
            good &= row.holds
            print(
                f"  load {row.peer.injected:.4f}: BookSim {row.peer.latency:8.3f} ± {row.peer_half_width:.3f}, "
                f"ours {row.ours.latency:8.3f} ± {row.ours.half_width:.3f}, ratio {row.ratio:.4f}"
            )
        saturation = compare.saturation(case, SHORT)
        good &= saturation.holds
        print(
            f"  saturated: BookSim {saturation.peer:.4f}, ours {saturation.ours:.4f}, ratio {saturation.ratio:.3f}"
        )
    print("within tolerance" if good else "NOT within tolerance")
    return int(not good)


if __name__ == "__main__":
    raise SystemExit(main())
