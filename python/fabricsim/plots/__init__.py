"""Pictures of results."""

from fabricsim.plots.latency import latency_cdf, load_latency
from fabricsim.plots.links import links
from fabricsim.plots.sets import PLOTS, draw, plot_folder, save_plots
from fabricsim.plots.theme import Format, save
from fabricsim.plots.throughput import flow_names, throughput

__all__ = [
    "PLOTS",
    "Format",
    "draw",
    "flow_names",
    "latency_cdf",
    "links",
    "load_latency",
    "plot_folder",
    "save",
    "save_plots",
    "throughput",
]
