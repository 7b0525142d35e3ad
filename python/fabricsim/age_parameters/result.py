"""Computed parameters of a topology."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, cast

from fabricsim.age_parameters import bias, channel_load, ejection, hops, merging, queueing, utilisation
from fabricsim.age_parameters.clock import MIDDLE, AgeClock, unrounded
from fabricsim.age_parameters.network import Network
from fabricsim.age_parameters.router import Router
from fabricsim.lazy import pandas as pd
from fabricsim.results import finite
from fabricsim.shown import Shown

MOST_NODES = 32_768
"""Nodes that the 15-bit destination of a packet's header can name (figure 1)."""


@dataclass(frozen=True)
class AgeParameters(Shown):
    """Equations 1 to 16 for a network, and the settings that follow. Dimensions are in the order of routing."""

    network: Network
    """Radix, and mesh or torus, of each dimension."""
    router: Router
    """Buffers, bandwidths and clock that were assumed."""
    clock: AgeClock
    """The steps to the age clock period."""

    @property
    def bias(self) -> dict[str, int]:
        """Age bias of the ports of each dimension, for requests and responses; the processor keeps the default of 1."""
        names = (dimension.name for dimension in self.network.dimensions)
        return dict(zip(names, self.clock.bias, strict=True))

    @property
    def period(self) -> int:
        """AGE_CLOCK_PERIOD in cycles of the router."""
        return self.clock.period

    @property
    def settings(self) -> dict[str, Any]:
        """The same as values of an experiment: `fs.run(experiment, set=found.settings)`."""
        picoseconds = round(self.router.cycle_ns * 1000)
        whole = picoseconds % 1000 == 0
        linked = (dimension for dimension in self.network.dimensions if dimension.radix > 1)
        return {
            "switch.arbiter": "age-based",
            "switch.age.cycle": f"{picoseconds // 1000} ns" if whole else f"{picoseconds} ps",
            "switch.age.period": self.period,
            "switch.age.bias.dimension": {dimension.key: self.bias[dimension.name] for dimension in linked},
        }

    @property
    def dimensions(self) -> pd.DataFrame:
        """A row for each dimension: hops, channel load, ejection probability and rate, bias, as printed and exact."""
        rows = zip(
            self.network.dimensions,
            ejection.printed(self.network),
            ejection.exact(self.network),
            utilisation.limits(self.network, self.router),
            bias.load_ratios(self.network),
            bias.by_load(self.network),
            bias.by_order(self.network),
            self.clock.bias,
            strict=True,
        )
        return pd.DataFrame(
            {
                "dimension": dimension.name,
                "kind": dimension.kind,
                "radix": dimension.radix,
                "hops": float(hops.printed(dimension)),
                "hops_exact": float(hops.exact(dimension)),
                "hops_rounded": hops.rounded(dimension),
                "hops_largest": hops.largest(dimension),
                "channel_load": float(channel_load.printed(dimension)),
                "channel_load_exact": float(channel_load.exact(dimension)),
                "channel_load_average": float(channel_load.average(dimension)),
                "ejection_probability": float(printed),
                "ejection_probability_exact": float(exact),
                "ejection_probability_per_port": float(ejection.per_direction(printed)),
                "channel_limit_gbytes_per_s": utilisation.channel(dimension, self.router),
                "utilisation_gbytes_per_s": limit,
                "load_ratio": float(ratio),
                "bias_by_load": by_load,
                "bias_by_order": by_order,
                "bias": chosen,
            }
            for dimension, printed, exact, limit, ratio, by_load, by_order, chosen in rows
        )

    @property
    def outputs(self) -> pd.DataFrame:
        """A row for each output port: the input ports that compete for it, and their number (table 3)."""
        rows = merging.competitors(self.network).items()
        return pd.DataFrame(
            {"output": output, "inputs": ", ".join(inputs), "count": len(inputs)} for output, inputs in rows
        )

    @property
    def queueing(self) -> pd.DataFrame:
        """A row for each load: equation 2 as printed, waiting and total time of M/D/1; in service times, and the
        M/D/1 wait in cycles of the router for packets of full size.
        """
        return pd.DataFrame(
            {
                "load": load,
                "printed": queueing.printed(load),
                "md1_wait": queueing.wait_md1(load),
                "md1_system": queueing.system_md1(load),
                "md1_wait_cycles": queueing.wait_md1(load) * self.router.packet,
            }
            for load in queueing.LOADS
        )

    @property
    def worst(self) -> pd.DataFrame:
        """Equation 3 for the average and for the longest way: hops, share of bandwidth as printed and by table 3,
        and the latency of one packet that follows, in ns.
        """
        parts = self.network.dimensions
        ways = {
            "average": list(self.clock.hops),
            "longest": [hops.largest(dimension) for dimension in parts],
        }
        return pd.DataFrame(self._worst(way, counts) for way, counts in ways.items())

    def _worst(self, way: str, counts: list[int]) -> dict[str, Any]:
        total = sum(counts)
        packet_ns = self.router.packet * self.router.cycle_ns
        return {
            "way": way,
            "hops": total,
            "share": merging.share_printed(self.network, total),
            "latency_ns": merging.latency_corrected(self.network, total) * packet_ns,
            "share_table_3": merging.share_by_table_3(self.network, counts),
            "latency_table_3_ns": merging.latency_by_table_3(self.network, counts) * packet_ns,
        }

    @property
    def totals(self) -> dict[str, float]:
        """Sums over the dimensions and equation 1, with times in ns.

        `latency_empty_ns` is equation 1 without queueing, `latency_full_ns` with the queueing of a full network from
        which the period follows; both with the router that a packet passes beyond its hops.
        """
        counts = [hops.printed(dimension) for dimension in self.network.dimensions]
        way = float(sum(counts))
        full = self.clock.cycles_per_hop * self.router.cycle_ns
        delay = self.router.delay_ns
        return {
            "nodes": self.network.nodes,
            "hops": way,
            "hops_exact": float(hops.exact_total(self.network)),
            "hops_largest": sum(hops.largest(dimension) for dimension in self.network.dimensions),
            "through_all": float(ejection.through_all(self.network)),
            "cycle_ns": self.router.cycle_ns,
            "latency_empty_ns": queueing.latency_ns(way, 0.0, delay, way + 1),
            "latency_full_ns": queueing.latency_ns(way, full, delay, way + 1),
            "tick_ns": self.period * self.router.cycle_ns,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on these numbers."""
        notes = [*self.network.notes, *self.clock.notes]
        if self.network.nodes > MOST_NODES:
            notes.append(
                f"{self.network.nodes:,} nodes are more than the {MOST_NODES:,} that a packet's "
                "15-bit destination can name"
            )
        return tuple(notes)

    def as_dict(self) -> dict[str, Any]:
        """The output of `fabricsim age-parameters --json`."""
        clock = self.clock
        steps = {
            **asdict(clock),
            "total_hops": clock.total_hops,
            "t_bias": clock.t_bias,
            "middle": MIDDLE,
            "left": clock.left,
            "ticks_per_hop": clock.ticks_per_hop,
            "packets_queued": clock.packets_queued,
            "cycles_per_hop": clock.cycles_per_hop,
            "period": clock.period,
            "period_unrounded": unrounded(self.network, clock),
        }
        frames = {
            "dimensions": self.dimensions,
            "outputs": self.outputs,
            "queueing": self.queueing,
            "worst": self.worst,
        }
        found = {
            "topology": self.network.title,
            "age_clock_period": self.period,
            "age_bias": self.bias,
            "settings": self.settings,
            "totals": self.totals,
            "clock": steps,
            "router": asdict(self.router),
            **{name: frame.to_dict("records") for name, frame in frames.items()},
            "notes": list(self.notes),
        }
        return cast("dict[str, Any]", finite(found))
