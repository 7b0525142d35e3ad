"""Pictures of results."""

from fabricsim.plots.captured import captured
from fabricsim.plots.comparison import comparison
from fabricsim.plots.congestion import congestion
from fabricsim.plots.entries import entries
from fabricsim.plots.failures import failures
from fabricsim.plots.jobs import jobs
from fabricsim.plots.latency import latency_cdf, load_latency
from fabricsim.plots.links import links
from fabricsim.plots.parameters import over_parameters
from fabricsim.plots.ranks import matrix, timeline
from fabricsim.plots.routers import routers
from fabricsim.plots.sequence import sequence
from fabricsim.plots.sets import PLOTS, Part, draw, plot_folder, save_plots, save_sweep_plots, save_tune_plots
from fabricsim.plots.sets_of_seeds import sets_of_seeds
from fabricsim.plots.subnets import link_loads
from fabricsim.plots.theme import Format, save
from fabricsim.plots.throughput import flow_names, throughput
from fabricsim.plots.transport import completion, transport

__all__ = [
    "PLOTS",
    "Format",
    "Part",
    "captured",
    "comparison",
    "completion",
    "congestion",
    "draw",
    "entries",
    "failures",
    "flow_names",
    "jobs",
    "latency_cdf",
    "link_loads",
    "links",
    "load_latency",
    "matrix",
    "over_parameters",
    "plot_folder",
    "routers",
    "save",
    "save_plots",
    "save_sweep_plots",
    "save_tune_plots",
    "sequence",
    "sets_of_seeds",
    "throughput",
    "timeline",
    "transport",
]
