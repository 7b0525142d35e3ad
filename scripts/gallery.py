"""`python scripts/gallery.py` runs the experiments of `experiments/gallery/` and writes `docs/gallery.md` with their
tables and pictures.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from gallery_connections import rc_dragonfly, rc_incast, rc_lost_packet
from gallery_ethernet import lossless_ethernet
from gallery_patterns import (
    dragonfly_routing,
    fat_tree_routing,
    mesh_patterns,
    parking_lot_fairness,
    ring_deadlock,
    torus_load,
)
from gallery_programs import (
    ordered_transfers,
    torus_all_to_all,
    torus_closed_loop,
    torus_failed_links,
    torus_link_fails,
)
from gallery_ranks import rank_program
from gallery_shared import EXPERIMENTS, ROOT, Shown
from gallery_subnets import engines_torus, engines_tree, subnet_bring_up, subnet_link_fails
from gallery_training import training_step

from fabricsim.plots import save

PAGE = ROOT / "docs/gallery.md"
PICTURES = "gallery"
INTRODUCTION = """# Gallery

Twenty-one experiments to begin with. Each is a file in `experiments/gallery/`, runs in
seconds, and is there to be changed: `--set key=value` replaces a value, `--vary key=a,b,c` runs over several. The
tables and pictures here come from `python scripts/gallery.py`.
"""


def main() -> None:
    parts = [INTRODUCTION]
    for name, show in GALLERY.items():
        file = EXPERIMENTS / f"{name}.toml"
        head = tomllib.loads(file.read_text(encoding="utf-8"))
        shown = show(file)
        save(shown.picture, PAGE.parent / PICTURES / f"{name}.svg")
        commands = "\n".join(shown.commands).replace("FILE", f"experiments/gallery/{name}.toml")
        parts += [
            f"## {head['title']}\n\n{head['description']}",
            f"```sh\n{commands}\n```",
            shown.table,
            f"![{head['title']}]({PICTURES}/{name}.svg)",
            shown.reading,
        ]
        print(f"{name}: done")
    PAGE.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")


GALLERY: Mapping[str, Callable[[Path], Shown]] = {
    "mesh-patterns": mesh_patterns,
    "torus-load": torus_load,
    "fat-tree-routing": fat_tree_routing,
    "dragonfly-routing": dragonfly_routing,
    "ring-deadlock": ring_deadlock,
    "parking-lot-fairness": parking_lot_fairness,
    "torus-failed-links": torus_failed_links,
    "torus-link-fails": torus_link_fails,
    "torus-closed-loop": torus_closed_loop,
    "torus-all-to-all": torus_all_to_all,
    "training-step": training_step,
    "ordered-transfers": ordered_transfers,
    "rc-dragonfly": rc_dragonfly,
    "rc-incast": rc_incast,
    "rc-lost-packet": rc_lost_packet,
    "lossless-ethernet": lossless_ethernet,
    "subnet-bring-up": subnet_bring_up,
    "subnet-link-fails": subnet_link_fails,
    "engines-tree": engines_tree,
    "engines-torus": engines_torus,
    "mpi-fft": rank_program,
}


if __name__ == "__main__":
    main()
