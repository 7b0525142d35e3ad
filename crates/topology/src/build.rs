//! From an experiment to a checked graph.

use std::path::Path;

use fabricsim_spec::{Experiment, LinkErrors, SpecError, Topology};

use crate::builder_input::{BuilderInput, SizeCheck};
use crate::builders::{
    dragonfly, fat_tree, grid, hypercube, hyperx, jellyfish, megafly, parking_lot, ring, single_switch,
    slim_fly, xgft, xpander,
};
use crate::links::apply_named;
use crate::{Graph, retry, validate};

/// Builds the graph of an experiment's `[topology]`, sets the parameters of its links by `[links]`, and checks it
/// by [`validate`]. Values of the experiment are in their ranges ([`fabricsim_spec::check_ranges`]). Paths are relative to `base_dir`; `file` is the experiment file's name, for messages.
///
/// # Errors
///
/// The error names the key (`topology.mesh.dimensions`), or the graph file and its line.
pub fn build(experiment: &Experiment, base_dir: &Path, file: &str) -> Result<Graph, SpecError> {
    build_checked(experiment, base_dir, file, &|_| None)
}

/// As [`build`]; `size_check` may refuse a regular topology by its number of links, before anything is built.
///
/// # Errors
///
/// As of [`build`], or the reason of `size_check` at the key `topology`.
pub fn build_checked(
    experiment: &Experiment,
    base_dir: &Path,
    file: &str,
    size_check: SizeCheck<'_>,
) -> Result<Graph, SpecError> {
    let context = BuilderInput { experiment, base_dir, file, size_check };
    let mut graph = match &experiment.topology {
        Topology::Mesh(spec) => grid::mesh(&context, spec),
        Topology::Torus(spec) => grid::torus(&context, spec),
        Topology::Grid(spec) => grid::mixed(&context, spec),
        Topology::Hypercube { dimensions, hosts_per_switch } => {
            hypercube::build(&context, *dimensions, *hosts_per_switch)
        }
        Topology::FatTree { arity, levels } => fat_tree::build(&context, *arity, *levels),
        Topology::Xgft { children, parents } => xgft::build(&context, children, parents),
        Topology::ParkingLot { switches, hosts_per_switch } => {
            parking_lot::build(&context, *switches, *hosts_per_switch)
        }
        Topology::Ring { switches, hosts_per_switch } => ring::build(&context, *switches, *hosts_per_switch),
        Topology::SingleSwitch { hosts } => single_switch::build(&context, *hosts),
        Topology::Dragonfly(spec) => dragonfly::build(&context, spec),
        Topology::Megafly(spec) => megafly::build(&context, spec),
        Topology::HyperX { dimensions, hosts_per_switch } => {
            hyperx::build(&context, dimensions, *hosts_per_switch)
        }
        Topology::SlimFly(spec) => slim_fly::build(&context, spec),
        Topology::Jellyfish(spec) => jellyfish::build(&context, spec),
        Topology::Xpander(spec) => xpander::build(&context, spec),
        Topology::File { path, hosts_per_switch } => crate::file::build(&context, path, *hosts_per_switch),
        Topology::Inline { format, text, hosts_per_switch } => {
            crate::file::build_inline(&context, *format, text, *hosts_per_switch)
        }
    }?;
    apply_named(&mut graph, &experiment.links, file)?;
    if experiment.links.errors == LinkErrors::Retry {
        retry::check_windows(&graph, &experiment.links.retry, file)?;
    }
    validate(&graph, experiment, file)?;
    Ok(graph)
}
