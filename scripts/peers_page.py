"""`python scripts/peers_page.py FIGURES` writes the page and the plot of what `scripts/bench_peers` has measured."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from long_run import describe
from peers_plot import FIGURE, draw
from peers_table import digits, quoted, table

from fabricsim.plots import save

ROOT = Path(__file__).resolve().parents[1]
PAGE = "docs/performance-peers.md"


def long_table(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Long runs as Markdown."""
    lines = [
        "| experiment | packet-hops | wall, s | CPU, s | packets injected | delivered | lost | in flight "
        "| packets balance | credits balance | memory after the warm-up |",
        "|---|--:|--:|--:|--:|--:|--:|--:|---|---|---|",
    ]
    for run in runs:
        found = run["invariants"]
        counts = " | ".join(digits(found[key]) for key in ("injected", "delivered", "dropped", "in_flight"))
        holds = " | ".join("yes" if found[key] else "**no**" for key in ("packets_ok", "credits_ok"))
        name = f"`{run['experiment']}` ({run['date']}, {run['build']})"
        lines.append(
            f"| {name} | {digits(run['packet_hops'])} | {digits(run['wall_s'])} | {digits(run['cpu_s'])} "
            f"| {counts} | {holds} | {describe(dict(run))} |"
        )
    return lines


def versions(result: Mapping[str, Any]) -> list[str]:
    """The simulators that were measured."""
    found: dict[str, str] = {}
    for case in result["cases"]:
        for row in case["rows"]:
            if "install" not in row:
                notes = f"; {row['notes']}" if row["notes"] else ""
                found[row["program"]] = f"- {row['program']}: {row['version']}{notes}."
    return list(found.values())


def write(root: Path, result: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> None:
    """Writes the page and its picture."""
    peers = tomllib.loads((root / "benches/peers.toml").read_text(encoding="utf-8"))["peer"]
    origins = [
        f"- {peer['name']} ({peer['version']}), {peer['date']}: {peer['origin'].strip()}."
        for peer in peers
        if peer["name"] != "CAMINOS"
    ]
    others = quoted(root)
    parts = {
        "date": result["date"],
        "processor": result["processor"],
        "pairs": str(result["pairs"]),
        "table": "\n".join(table(result, others)),
        "versions": "\n".join(versions(result)),
        "origins": "\n".join(origins),
        "long": "\n".join(long_table(runs)) if runs else "Not measured: `python scripts/long_run.py`.",
    }
    text = (root / "benches/peers/page.md.in").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    (root / PAGE).write_text(text, encoding="utf-8")
    save(draw(result, others), root / FIGURE)


def main() -> None:
    """Reads figures, writes the page and its plot."""
    parser = argparse.ArgumentParser(description="The page of figures that scripts/bench_peers has measured.")
    parser.add_argument("figures", type=Path, help="the file that scripts/bench_peers left")
    parser.add_argument(
        "--long-run", type=Path, action="append", default=[], help="figures of scripts/long_run.py"
    )
    wanted = parser.parse_args()
    result = json.loads(wanted.figures.read_text(encoding="utf-8"))
    write(ROOT, result, [json.loads(file.read_text(encoding="utf-8")) for file in wanted.long_run])


if __name__ == "__main__":
    main()
