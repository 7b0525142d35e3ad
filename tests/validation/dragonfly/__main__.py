"""`python -m tests.validation.dragonfly`: holds throughput against the busiest link; with `--write` writes the page."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import limits, page

ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    """Prints the limits; 1 if one does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.validation.dragonfly", description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="run the curves, too, write docs/validation/dragonfly.md"
    )
    if parser.parse_args().write:
        path = page.write(ROOT / "docs/validation")
        print(f"written: {path}")
        return int("**no" in path.read_text(encoding="utf-8"))
    good = True
    for limit in limits.LIMITS:
        found = limits.held(limit)
        good &= found.holds
        print(
            f"{limit.algorithm}, {limit.arrangement}, +{limit.offset}: limit {limit.limit:.4f}, accepted "
            f"{found.below.kept:.1%} below, {found.beyond.kept:.1%} beyond"
        )
    print("all hold" if good else "NOT all hold")
    return int(not good)


if __name__ == "__main__":
    raise SystemExit(main())
