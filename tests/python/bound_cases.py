"""Experiments whose bounds the tests know."""

from __future__ import annotations

import fabricsim as fs

SATURATING = 'injection = "saturating"\nmessage = "2 KiB"\n'
CLOSE = 1e-6


def experiment(topology: str, traffic: str, rest: str = "") -> fs.Experiment:
    return fs.Experiment.from_text(
        f'[topology]\n{topology}\n[[traffic]]\n{traffic}\n{SATURATING}[run]\nduration = "1 ms"\n{rest}'
    )


def host(i: int, j: int, slot: int) -> str:
    return f"H{i}{j}{slot}"


def mesh_with_hot_spots() -> str:
    """As the thesis' experiments C4 and D: 15 contributors to three hot spots, 3 victims, all others uniform."""
    names = [host(i, j, slot) for i in range(1, 6) for j in range(1, 6) for slot in (1, 2)]
    hot, victims = ["H132", "H332", "H552"], ["H221", "H421", "H441"]
    calm = ["H522", "H122", "H242"]
    contributors = [name for name in names if name not in hot + victims + calm and name.endswith("1")][:15]
    uniform = [name for name in names if name not in contributors + victims]

    def entry(name: str, sources: list[str], pattern: str) -> str:
        return f'[[traffic]]\nname = "{name}"\nsources = {sources}\npattern = {pattern}\n{SATURATING}'

    parts = [entry("uniform", uniform, '"uniform"')]
    for number in range(3):
        five = contributors[5 * number : 5 * number + 5]
        parts.append(entry(f"hot{number}", five, f'{{ to = "{hot[number]}" }}'))
        parts.append(entry(f"victim{number}", [victims[number]], f'{{ to = "{calm[number]}" }}'))
    assert len(contributors) == 15
    assert len(uniform) == 32
    return f"""
[topology.mesh]
dimensions = [5, 5]
hosts_per_switch = 2
naming = "thesis"
[links.all]
rate = "32 Gb/s"
[links.hosts]
rate = "8 Gb/s"
[run]
duration = "2 ms"
{"".join(parts)}"""
