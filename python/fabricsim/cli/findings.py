"""What is odd about the files of a subnet."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from fabricsim.subnets import Finding

MOST_FINDINGS = 5
"""Findings of a kind that are printed; --json has all."""


def print_findings(findings: Sequence[Finding], console: Console) -> None:
    """Prints findings by kind."""
    for kind in dict.fromkeys(finding.kind for finding in findings):
        same = [finding for finding in findings if finding.kind == kind]
        console.print(f"{kind.replace('_', ' ')}: {len(same)}")
        for finding in same[:MOST_FINDINGS]:
            console.print(f"  {finding}", markup=False)
        if len(same) > MOST_FINDINGS:
            console.print(f"  and {len(same) - MOST_FINDINGS} more")
