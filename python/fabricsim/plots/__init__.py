"""Pictures of results."""

from fabricsim.plots.captured import captured
from fabricsim.plots.comparison import comparison
from fabricsim.plots.congestion import congestion
from fabricsim.plots.entities import flow_names
from fabricsim.plots.entries import entries, entries_by
from fabricsim.plots.failures import failures
from fabricsim.plots.heat_map import heat_map
from fabricsim.plots.jobs import jobs
from fabricsim.plots.latency import latency_cdf, load_latency
from fabricsim.plots.links import links
from fabricsim.plots.looks import Look, Style, label_of, look, width_of
from fabricsim.plots.parameters import over_parameters
from fabricsim.plots.ranks import matrix, timeline
from fabricsim.plots.routers import routers
from fabricsim.plots.seeds import seeds
from fabricsim.plots.sequence import sequence
from fabricsim.plots.sets import (
    PLOTS,
    Part,
    draw,
    plot_folder,
    save_plots,
    save_sum_plots,
    save_sweep_plots,
    save_tune_plots,
)
from fabricsim.plots.sets_of_seeds import sets_of_seeds
from fabricsim.plots.subnets import link_loads
from fabricsim.plots.sums import sums_over_parameters
from fabricsim.plots.theme import Format, save
from fabricsim.plots.throughput import throughput, throughput_by
from fabricsim.plots.transport import completion, transport

__all__ = [
    "PLOTS",
    "Format",
    "Look",
    "Part",
    "Style",
    "captured",
    "comparison",
    "completion",
    "congestion",
    "draw",
    "entries",
    "entries_by",
    "failures",
    "flow_names",
    "heat_map",
    "jobs",
    "label_of",
    "latency_cdf",
    "link_loads",
    "links",
    "load_latency",
    "look",
    "matrix",
    "over_parameters",
    "plot_folder",
    "routers",
    "save",
    "save_plots",
    "save_sum_plots",
    "save_sweep_plots",
    "save_tune_plots",
    "seeds",
    "sequence",
    "sets_of_seeds",
    "sums_over_parameters",
    "throughput",
    "throughput_by",
    "timeline",
    "transport",
    "width_of",
]
